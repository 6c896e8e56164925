/*
 * A log that is written and read again, against a list of all events and the plainest sums of it:
 * what was live and mapped of each site at each local maximum, as a whole, of any newest files, cut
 * off anywhere, and with gaps; by one thread and by several.
 *
 *	history-log [FIRST-SEED [SEEDS]]
 */
#include <config.h>

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording/changes.h"
#include "recording/log-format.h"
#include "recording/log-writer.h"
#include "recording/parts.h"
#include "recording/profiles.h"
#include "recording/recording-open.h"
#include "tap.h"

#define NR_SITES 48
#define NR_OF_BLOCKS 40 /* sites; the others have mappings */
#define MAX_EVENTS 60000
#define MAX_FILES 400
#define MAX_INTERVALS 4096
#define INTERVAL_TICKS 100
#define NS_PER_TICK UINT64_C(1000000)
#define OPENED UINT64_C(7000000123)
#define REALTIME UINT64_C(1763883901417000000)

static char dir[] = "/tmp/memdiag-history-XXXXXX";

/* ---- what was written ---- */

struct noted {
	uint64_t ticks, bytes;
	uint32_t site;
	enum event_kind kind;
};

static struct noted events[MAX_EVENTS];
static size_t nr_events;

/* The files of the log: the first event of each, its beginning, and its name. */
static struct {
	size_t first;
	uint64_t ticks;
	char name[256];
} files[MAX_FILES];
static size_t nr_files;
static uint64_t now_ticks;

static unsigned int seed;

static unsigned int
pick(unsigned int below)
{
	return (unsigned int)rand_r(&seed) % below;
}

static int
give_site(void *context, uint32_t site, struct wire_site *ret, struct err *e)
{
	(void)context;
	(void)e;
	*ret = (struct wire_site){ .node = 2 * site + 2 };
	return 0;
}

/* Site N has the frames 0x401000 + N and 0x400800, in the thread 100 + N % 3. */
static int
give_node(void *context, uint32_t node, struct wire_node *ret, struct err *e)
{
	const uint32_t site = (node - 3) / 2;

	(void)context;
	(void)e;
	if (node == 1)
		*ret = (struct wire_node){ .address = 0x400800 };
	else if (node % 2)
		*ret = (struct wire_node){ .address = 0x401000 + site, .parent = 1 };
	else
		*ret = (struct wire_node){ wire_label(WIRE_LABEL_THREAD, 100 + (node / 2 - 1) % 3),
			node + 1, 0 };
	return 0;
}

static int
give_maps(void *context, const char **ret, struct err *e)
{
	(void)context;
	(void)e;
	*ret = "00400000-00500000 r-xp 00001000 08:01 1    /nowhere/it\n"
	       "00600000-00700000 rw-p 00001000 08:01 1    /nowhere/it\n";
	return 0;
}

static const struct log_namer names = { NULL, give_site, give_node, give_maps };

static struct {
	uint32_t site;
	uint64_t bytes;
} blocks[3000];
static size_t nr_blocks;

static struct {
	uint32_t site;
	uint64_t bytes;
} mappings[100];
static size_t nr_mappings;

/* Most of them come and go in parts. */
static void
make_mapping(struct noted *v)
{
	const size_t i = nr_mappings ? pick((unsigned int)nr_mappings) : 0;
	const unsigned int what = pick(4);

	if (nr_mappings < sizeof mappings / sizeof *mappings && (!nr_mappings || !what)) {
		v->kind = EVENT_MAPPED;
		v->site = NR_OF_BLOCKS + pick(NR_SITES - NR_OF_BLOCKS);
		v->bytes = pick(9) ? 4096 * (1 + pick(64)) : UINT64_C(1) << 47;
		mappings[nr_mappings].site = v->site;
		mappings[nr_mappings++].bytes = v->bytes;
		return;
	}
	v->site = mappings[i].site;
	if (what == 1 || mappings[i].bytes == 1) {
		v->kind = EVENT_UNMAPPED;
		v->bytes = mappings[i].bytes;
		mappings[i] = mappings[--nr_mappings];
	} else if (what == 2) {
		v->kind = EVENT_GROWN;
		v->bytes = 1 + pick(100000);
		mappings[i].bytes += v->bytes;
	} else {
		v->kind = EVENT_SHRUNK;
		v->bytes = 1 +
			pick(mappings[i].bytes > 100000 ? 99999
							: (unsigned int)mappings[i].bytes - 1);
		mappings[i].bytes -= v->bytes;
	}
}

static void
make_event(struct noted *v)
{
	*v = (struct noted){ .ticks = now_ticks };
	if (!pick(12)) {
		make_mapping(v);
		return;
	}
	if (nr_blocks && (pick(100) < 48 || nr_blocks == sizeof blocks / sizeof *blocks)) {
		const size_t i = pick(3) ? nr_blocks - 1 : pick((unsigned int)nr_blocks);

		v->kind = pick(3) ? EVENT_FREED : EVENT_FREED_SOON;
		v->site = blocks[i].site;
		v->bytes = blocks[i].bytes;
		blocks[i] = blocks[--nr_blocks];
		return;
	}
	v->site = pick(NR_OF_BLOCKS);
	v->bytes = pick(4) ? 16 * pick(8) : pick(10) ? pick(5000) : UINT64_C(1) << pick(40);
	blocks[nr_blocks].site = v->site;
	blocks[nr_blocks++].bytes = v->bytes;
}

/* Note the files that there are since FIRST events. */
static void
note_files(const struct log_writer *w, size_t first, uint64_t ticks)
{
	const struct log_written sum = log_writer_sum(w);

	while (nr_files < sum.nr_files && nr_files < MAX_FILES) {
		files[nr_files].first = first;
		files[nr_files].ticks = ticks;
		snprintf(files[nr_files++].name, sizeof files[0].name, "%s", sum.file);
	}
}

/* Write a log of NR events, with steps of up to STEP ticks. */
static bool
write_log(size_t nr, uint64_t max_file_bytes, unsigned int step)
{
	const struct log_settings s = { dir, "it", 42, OPENED, REALTIME, max_file_bytes,
		MAX_FILES };
	struct log_writer *w;
	struct event v;
	struct err e;
	uint64_t before;

	nr_events = nr_files = nr_blocks = nr_mappings = 0;
	now_ticks = 0;
	if (log_writer_open(&w, &s, &names, &e) < 0)
		return ok(false, "a log is written: %s", e.msg);
	note_files(w, 0, 0);
	while (nr_events < nr) {
		before = now_ticks;
		now_ticks += pick(20) ? 0 : pick(50) ? pick(step) : pick(40 * step);
		make_event(&events[nr_events]);
		v = (struct event){ OPENED + now_ticks * NS_PER_TICK + pick(1000000),
			events[nr_events].bytes, events[nr_events].site, events[nr_events].kind };
		if (log_writer_add(w, &v, 1, &e) < 0)
			return ok(false, "an event is written: %s", e.msg);
		note_files(w, nr_events++, before);
		if (!pick(300)) {
			now_ticks += pick(step);
			log_writer_flush(w,
				&(struct log_moment){
					OPENED + now_ticks * NS_PER_TICK, 1000 + now_ticks, 0, 0 },
				&e);
			note_files(w, nr_events, now_ticks);
		}
	}
	return log_writer_close(w, &e) == 0 && nr_files < MAX_FILES;
}

/* ---- the plainest sums ---- */

struct truth {
	struct interval {
		struct amount live[NR_SITES], sum; /* at the local maximum */
		uint64_t at;
		struct amount allocated, freed;
		int64_t mapped_bytes; /* the most */
	} interval[MAX_INTERVALS];
	size_t nr_intervals, peak; /* the interval of it */
	struct site {
		struct amount live, allocated, freed, temporary, max;
		int64_t lives;
	} site[NR_SITES];
	struct amount live, allocated, freed, temporary, before;
	struct amount mapped, mapped_allocated, mapped_before, mapped_peak;
	uint64_t mapped_peak_at;
	uint64_t end;
};

static struct truth truth;

static void
change(struct amount *a, int64_t sign, uint64_t bytes)
{
	a->blocks += sign;
	a->bytes += sign * (int64_t)bytes;
}

static void
set_max(struct truth *t, struct interval *i, uint64_t at)
{
	for (int s = 0; s < NR_SITES; s++)
		i->live[s] = t->site[s].live;
	i->sum = t->live;
	i->at = at;
}

/* Have the interval that TICKS is in, and those before it. */
static struct interval *
go_to(struct truth *t, uint64_t ticks)
{
	if (ticks / INTERVAL_TICKS >= MAX_INTERVALS)
		abort();
	while (t->nr_intervals <= ticks / INTERVAL_TICKS) {
		struct interval *i = &t->interval[t->nr_intervals];

		memset(i, 0, sizeof *i);
		set_max(t, i, t->nr_intervals++ * INTERVAL_TICKS);
		i->mapped_bytes = t->mapped.bytes;
	}
	return &t->interval[t->nr_intervals - 1];
}

static bool
is_of_mapping(const struct noted *v)
{
	return v->site >= NR_OF_BLOCKS;
}

static bool
is_more(const struct noted *v)
{
	return v->kind == EVENT_ALLOCATED || v->kind == EVENT_MAPPED || v->kind == EVENT_GROWN;
}

/* Add what V has to A, as a positive number. */
static void
add_to(struct amount *a, const struct noted *v)
{
	a->blocks += v->kind != EVENT_GROWN && v->kind != EVENT_SHRUNK;
	a->bytes += (int64_t)v->bytes;
}

static void
subtract_from(struct amount *a, const struct noted *v)
{
	a->blocks -= v->kind != EVENT_GROWN && v->kind != EVENT_SHRUNK;
	a->bytes -= (int64_t)v->bytes;
}

static void
raise_mapped(struct truth *t, struct interval *i, uint64_t ticks)
{
	if (t->mapped.bytes > i->mapped_bytes)
		i->mapped_bytes = t->mapped.bytes;
	if (t->mapped.bytes <= t->mapped_peak.bytes)
		return;
	t->mapped_peak = t->mapped;
	t->mapped_peak_at = ticks;
}

static void
play_mapping(struct truth *t, struct interval *i, const struct noted *v, uint64_t ticks)
{
	struct site *s = &t->site[v->site];

	if (is_more(v)) {
		add_to(&s->allocated, v);
		add_to(&s->live, v);
		add_to(&t->mapped_allocated, v);
		add_to(&t->mapped, v);
	} else {
		add_to(&s->freed, v);
		subtract_from(&s->live, v);
		subtract_from(&t->mapped, v);
	}
	raise_mapped(t, i, ticks);
}

static void
play(struct truth *t, const struct noted *v, uint64_t ticks)
{
	struct interval *i = go_to(t, ticks);
	struct site *s = &t->site[v->site];

	if (is_of_mapping(v)) {
		play_mapping(t, i, v, ticks);
		return;
	}
	if (v->kind == EVENT_ALLOCATED) {
		change(&s->allocated, 1, v->bytes);
		change(&t->allocated, 1, v->bytes);
		change(&i->allocated, 1, v->bytes);
		change(&s->live, 1, v->bytes);
		change(&t->live, 1, v->bytes);
		s->lives -= (int64_t)ticks;
	} else {
		change(&s->freed, 1, v->bytes);
		change(&t->freed, 1, v->bytes);
		change(&i->freed, 1, v->bytes);
		change(&s->live, -1, v->bytes);
		change(&t->live, -1, v->bytes);
		s->lives += (int64_t)ticks;
	}
	if (v->kind == EVENT_FREED_SOON) {
		change(&s->temporary, 1, v->bytes);
		change(&t->temporary, 1, v->bytes);
	}
	if (s->live.bytes > s->max.bytes)
		s->max = s->live;
	if (t->live.bytes > i->sum.bytes)
		set_max(t, i, ticks);
}

/* The live amounts after the first NR events of the log, without intervals. */
static void
find_live(struct amount live[NR_SITES], size_t nr)
{
	memset(live, 0, NR_SITES * sizeof *live);
	for (size_t i = 0; i < nr; i++)
		if (is_more(&events[i]))
			add_to(&live[events[i].site], &events[i]);
		else
			subtract_from(&live[events[i].site], &events[i]);
}

/* Sum up the events from FILE on up to END. */
static void
sum_up(struct truth *t, size_t file, size_t end, uint64_t end_ticks)
{
	struct amount live[NR_SITES];
	struct interval *first;

	memset(t, 0, sizeof *t);
	find_live(live, files[file].first);
	first = go_to(t, 0);
	for (int s = 0; s < NR_SITES; s++) {
		struct amount *const before = s < NR_OF_BLOCKS ? &t->before : &t->mapped_before;

		t->site[s].live = t->site[s].allocated = t->site[s].max = live[s];
		before->blocks += live[s].blocks;
		before->bytes += live[s].bytes;
	}
	t->mapped = t->mapped_allocated = t->mapped_before;
	raise_mapped(t, first, 0);
	t->live = t->allocated = first->allocated = t->before;
	set_max(t, first, 0);
	for (size_t i = files[file].first; i < end; i++)
		play(t, &events[i], events[i].ticks - files[file].ticks);
	if (end_ticks != UINT64_MAX) {
		t->end = end_ticks - files[file].ticks;
		go_to(t, t->end);
	}
	for (size_t i = 1; i < t->nr_intervals; i++)
		if (t->interval[i].sum.bytes > t->interval[t->peak].sum.bytes)
			t->peak = i;
}

/* ---- what the reader says ---- */

static bool
same(const struct amount *a, const struct amount *b)
{
	return a->blocks == b->blocks && a->bytes == b->bytes;
}

/* Compares each local maximum by site. */
struct comparing {
	size_t next;
	bool is_bad;
};

static int
compare_moment(void *arg, struct history_moment *m, struct err *e)
{
	struct comparing *c = arg;
	const struct interval *i = &truth.interval[m->interval];
	struct amount live[NR_SITES] = { 0 }, mapped = { 0 };

	(void)e;
	c->is_bad |= m->interval != c->next++ || !same(&m->max.live, &i->sum) ||
		m->max.at_ns != i->at * NS_PER_TICK;
	for (size_t s = 0; s < m->sites.nr; s++)
		live[m->sites.v[s].site] = m->sites.v[s].live;
	for (int s = 0; s < NR_SITES; s++) {
		c->is_bad |= !same(&live[s], &i->live[s]);
		if (s >= NR_OF_BLOCKS)
			mapped = (struct amount){ mapped.blocks + live[s].blocks,
				mapped.bytes + live[s].bytes };
	}
	c->is_bad |= !same(&mapped, &m->mapped);
	return 0;
}

static bool
has_sites(const struct history *h)
{
	for (int i = 0; i < NR_SITES; i++) {
		static const struct history_site none = { 0 };
		const struct history_site *s = (size_t)i < h->sites.nr ? &h->sites.v[i] : &none;
		const struct site *t = &truth.site[i];
		const struct amount freed = amount_less(&s->allocated, &s->live.amount);
		const int64_t lives = t->lives + t->live.blocks * (int64_t)truth.end;

		if (!same(&s->allocated, &t->allocated) || !same(&freed, &t->freed) ||
			(t->allocated.blocks && history_site_is_mapped(s) != (i >= NR_OF_BLOCKS)))
			return false;
		if (i >= NR_OF_BLOCKS)
			continue;
		if (!same(&s->temporary, &t->temporary) ||
			!same(&s->peak, &truth.interval[truth.peak].live[i]) ||
			s->max.bytes != t->max.bytes || (int64_t)s->lives_ms != lives)
			return false;
	}
	return true;
}

static bool
has_intervals(const struct history *h)
{
	if (h->intervals.nr != truth.nr_intervals)
		return false;
	for (size_t i = 0; i < h->intervals.nr; i++) {
		const struct history_interval *got = &h->intervals.v[i];
		const struct interval *t = &truth.interval[i];

		if (!same(&got->max.live, &t->sum) || got->max.at_ns != t->at * NS_PER_TICK ||
			!same(&got->allocated, &t->allocated) || !same(&got->freed, &t->freed) ||
			got->mapped_bytes != t->mapped_bytes)
			return false;
	}
	return true;
}

static bool
has_mappings(const struct history *h)
{
	return same(&h->mapped, &truth.mapped) &&
		same(&h->mapped_allocated, &truth.mapped_allocated) &&
		same(&h->mapped_before, &truth.mapped_before) &&
		same(&h->mapped_peak.live, &truth.mapped_peak) &&
		h->mapped_peak.at_ns == truth.mapped_peak_at * NS_PER_TICK;
}

/* Whether changes, summed up, are what was live at the greatest maximum of each of NR stretches. */
static bool
is_sum_of_changes(const struct history_changes *c, size_t nr)
{
	struct amount live[NR_SITES] = { 0 };
	size_t at = 0;

	if (c->steps.nr != nr)
		return false;
	for (size_t i = 0; i < nr; i++) {
		const struct history_step *step = &c->steps.v[i];
		size_t best = i * truth.nr_intervals / nr;
		int64_t mapped = -1;

		for (size_t k = best; k < (i + 1) * truth.nr_intervals / nr; k++) {
			if (truth.interval[k].sum.bytes > truth.interval[best].sum.bytes)
				best = k;
			if (truth.interval[k].mapped_bytes > mapped)
				mapped = truth.interval[k].mapped_bytes;
		}
		for (; at < step->end; at++)
			amount_add(&live[c->changes.v[at].site], &c->changes.v[at].more);
		if (step->at_ns != truth.interval[best].at * NS_PER_TICK ||
			step->live_bytes != truth.interval[best].sum.bytes ||
			step->mapped_bytes != mapped)
			return false;
		for (int s = 0; s < NR_OF_BLOCKS; s++)
			if (!same(&live[s], &truth.interval[best].live[s]))
				return false;
		for (int s = NR_OF_BLOCKS; s < NR_SITES; s++)
			if (live[s].blocks || live[s].bytes)
				return false;
	}
	return at == c->changes.nr;
}

static bool
has_changes(const struct history *h, struct recording *r)
{
	const size_t most = 1 + pick((unsigned int)truth.nr_intervals + 3);
	auto_changes struct history_changes c = { .steps = { .nr = 0 } };
	struct err e;

	if (history_changes_read(&c, h, r, most, &e) < 0) {
		printf("# %s\n", e.msg);
		return false;
	}
	return is_sum_of_changes(&c, most < truth.nr_intervals ? most : truth.nr_intervals);
}

/* Whether what was read as H, and what R gives again of all intervals, is the truth. */
static const char *
find_difference(const struct history *h, struct recording *r)
{
	auto_history struct history again = { .interval_ns = INTERVAL_TICKS * NS_PER_TICK,
		.nr_threads = h->nr_threads };
	struct comparing c = { .next = 0 };
	static size_t intervals[MAX_INTERVALS];
	struct history_moments moments = { intervals, truth.nr_intervals, compare_moment, &c };
	struct err e;

	for (size_t i = 0; i < truth.nr_intervals; i++)
		intervals[i] = i;
	if (!same(&h->live, &truth.live) || !same(&h->allocated, &truth.allocated) ||
		!same(&h->freed, &truth.freed) || !same(&h->temporary, &truth.temporary) ||
		!same(&h->before, &truth.before))
		return "the sums";
	if (h->end_ns != truth.end * NS_PER_TICK)
		return "the end";
	if (!same(&h->peak.live, &truth.interval[truth.peak].sum))
		return "the peak";
	if (!has_mappings(h))
		return "the sums of mappings";
	if (!has_intervals(h))
		return "intervals";
	if (!has_sites(h))
		return "sites";
	if (history_read(&again, r, &moments, &e) < 0) {
		printf("# %s\n", e.msg);
		return "that it can be read again";
	}
	if (c.is_bad || c.next != truth.nr_intervals)
		return "moments";
	return has_changes(h, r) ? NULL : "changes between moments";
}

static bool
open_and_read(struct recording **r, struct history *h, const char *path)
{
	struct err e;

	if (recording_open(r, path, &e) > 0 && history_read(h, *r, NULL, &e) == 0)
		return true;
	printf("# %s\n", e.msg);
	return false;
}

/* Whether PATH has what was written from FILE on. */
static bool
is_equal(const char *path, size_t file, size_t end, uint64_t end_ticks, unsigned int nr_threads,
	bool is_partial)
{
	auto_recording struct recording *r = NULL;
	auto_history struct history h = { .interval_ns = INTERVAL_TICKS * NS_PER_TICK,
		.keeps_lives = true,
		.nr_threads = nr_threads };
	const char *difference;
	bool says_gap = false;

	if (!open_and_read(&r, &h, path))
		return false;
	sum_up(&truth, file, end, end_ticks);
	difference = find_difference(&h, r);
	for (size_t i = 0; i < r->facts->warnings.nr; i++)
		says_gap |= strstr(r->facts->warnings.v[i], "gap") ||
			strstr(r->facts->warnings.v[i], "missing");
	if (!difference && says_gap != is_partial)
		difference = "what is said of gaps";
	if (difference)
		printf("# %s: not equal: %s\n", path, difference);
	return !difference;
}

/* ---- tests ---- */

static void
move(size_t file, bool away)
{
	char hidden[300];

	snprintf(hidden, sizeof hidden, "%s.away", files[file].name);
	if (rename(away ? files[file].name : hidden, away ? hidden : files[file].name) < 0)
		ok(false, "a file is moved: %s", strerror(errno));
}

/* As a whole, and of any newest files. */
static void
test_runs(void)
{
	bool is_bad = false;

	for (unsigned int threads = 0; threads <= 5; threads++)
		is_bad |= !is_equal(dir, 0, nr_events, now_ticks, threads, false);
	ok(!is_bad, "seed %u: all of the log of %zu files, by any number of threads", seed,
		nr_files);
	is_bad = false;
	for (size_t i = 1; i < nr_files; i++) {
		move(i - 1, true);
		is_bad |= !is_equal(dir, i, nr_events, now_ticks, 1 + (unsigned int)i % 4, false);
	}
	for (size_t i = 1; i < nr_files; i++)
		move(i - 1, false);
	ok(!is_bad, "any newest files");
	is_bad = false;
	for (size_t i = 0; i < nr_files; i++) {
		const bool is_last = i + 1 == nr_files;

		is_bad |= !is_equal(files[i].name, i, is_last ? nr_events : files[i + 1].first,
			is_last ? now_ticks : files[i + 1].ticks, 0, false);
	}
	ok(!is_bad, "each file alone");
}

/* Without one in the middle, or with one that is cut off there. */
static void
test_gaps(void)
{
	const size_t gap = (nr_files - 1) / 2;
	struct stat st;
	char *text;
	FILE *f;

	move(gap, true);
	ok(is_equal(dir, gap + 1, nr_events, now_ticks, 2, true),
		"what is behind a file that is missing, which is said");
	move(gap, false);
	f = fopen(files[gap].name, "r+");
	if (!f || fstat(fileno(f), &st) < 0 || !(text = malloc((size_t)st.st_size)) ||
		fread(text, 1, (size_t)st.st_size, f) != (size_t)st.st_size ||
		ftruncate(fileno(f), st.st_size * 2 / 3) < 0) {
		ok(false, "a file is cut off");
		return;
	}
	ok(is_equal(dir, gap + 1, nr_events, now_ticks, 2, true),
		"what is behind a file that is cut off, which is said");
	rewind(f);
	fwrite(text, 1, (size_t)st.st_size, f);
	fclose(f);
	free(text);
}

/* How many events H has of all of them: that many of blocks, and of mappings so many bytes. */
static size_t
count_events(const struct history *h)
{
	const int64_t of_blocks = h->allocated.blocks - h->before.blocks + h->freed.blocks;
	const int64_t all = h->mapped_allocated.bytes - h->mapped_before.bytes,
		      less = all - h->mapped.bytes;
	int64_t nr = 0, more = 0, fewer = 0;
	size_t i = 0;

	for (; i < nr_events; i++) {
		const bool is_wanted = !is_of_mapping(&events[i]) ? nr < of_blocks
			: is_more(&events[i])			  ? more < all
								  : fewer < less;

		if (!is_wanted)
			break;
		nr += !is_of_mapping(&events[i]);
		more += is_of_mapping(&events[i]) && is_more(&events[i]) ? (int64_t)events[i].bytes
									 : 0;
		fewer += is_of_mapping(&events[i]) && !is_more(&events[i])
			? (int64_t)events[i].bytes
			: 0;
	}
	return i;
}

/* The last file cut off after SIZE bytes: *NR_EVENTS as many are read as before, or more. */
static bool
is_cut_equal(off_t size, size_t *nr)
{
	auto_recording struct recording *r = NULL;
	auto_history struct history h = { .interval_ns = INTERVAL_TICKS * NS_PER_TICK,
		.keeps_lives = true };
	const char *difference;
	size_t got;

	if (truncate(files[nr_files - 1].name, size) < 0 || !open_and_read(&r, &h, dir))
		return false;
	got = count_events(&h);
	if (got < *nr || got > nr_events) {
		printf("# %zu events, and %zu before\n", got, *nr);
		return false;
	}
	*nr = got;
	sum_up(&truth, 0, got, h.end_ns / NS_PER_TICK);
	difference = find_difference(&h, r);
	if (difference)
		printf("# cut at %zu: not equal: %s\n", (size_t)size, difference);
	return !difference;
}

static void
test_cuts(void)
{
	struct stat st;
	size_t nr = files[nr_files - 1].first, nr_tried = 0, first = nr;
	bool is_bad = false;

	if (stat(files[nr_files - 1].name, &st) < 0)
		return;
	/* A cut cannot be undone, so the file gets shorter and shorter. */
	for (off_t size = st.st_size; size > 300; size -= 1 + (off_t)pick(40)) {
		size_t none = first;

		is_bad |= !is_cut_equal(size, &none);
		is_bad |= nr_tried++ && none > nr;
		nr = none;
	}
	ok(!is_bad && nr_tried > 10 && nr < nr_events, "a log whose end is cut off, at %zu places",
		nr_tried);
}

static void
remove_all(void)
{
	for (size_t i = 0; i < nr_files; i++)
		unlink(files[i].name);
}

/* Whether V are of SITE: allocated, in use, peak, temporary, mapped, and what was, of each two. */
static bool
has_values(const int64_t *v, uint64_t site)
{
	const struct site *t = &truth.site[site];
	const size_t live = site < NR_OF_BLOCKS ? 2 : 8, all = site < NR_OF_BLOCKS ? 0 : 10;
	bool is_bad = false;

	for (size_t i = 0; i < 12; i++)
		is_bad |= v[i] && (i >= 8) != (site >= NR_OF_BLOCKS);
	return !is_bad && v[live] == t->live.blocks && v[live + 1] == t->live.bytes &&
		v[all] == t->allocated.blocks && v[all + 1] == t->allocated.bytes;
}

/* Names, threads, and what is said. */
static void
test_profile(void)
{
	auto_recording struct recording *r = NULL;
	auto_history struct history h = { .interval_ns = 0 };
	auto_profile struct profile *p = NULL;
	struct err e;
	bool is_bad = false, says_begin = false;

	if (!open_and_read(&r, &h, dir) || history_profile(&p, &h, r, &e) < 0) {
		ok(false, "a profile is made");
		return;
	}
	for (size_t i = 0; i < p->samples.nr; i++) {
		const struct profile_sample *s = &p->samples.v[i];
		const struct profile_stack *stack = &p->stacks.v[s->stack];
		const struct profile_frame *leaf = &p->frames.v[p->stack_frames.v[stack->first]];
		const uint64_t site = leaf->address - 0x401000;

		is_bad |= stack->nr != 2 || site >= NR_SITES || leaf->mapping_1 != 1 ||
			p->frames.v[p->stack_frames.v[stack->first + 1]].address != 0x400800 ||
			p->threads.v[s->thread_1 - 1].tid != (int64_t)(100 + site % 3) ||
			!has_values(profile_values(p, i), site);
	}
	if (is_bad || p->samples.nr != NR_SITES || p->mappings.nr != 1)
		printf("# %d, %zu samples, %zu mappings\n", is_bad, p->samples.nr, p->mappings.nr);
	ok(!is_bad && p->samples.nr == NR_SITES && p->mappings.nr == 1 &&
			strcmp(p->mappings.v[0].path, "/nowhere/it") == 0,
		"a profile has stacks, threads and mappings");
	for (size_t i = 0; i < p->comments.nr; i++)
		says_begin |= strstr(p->comments.v[i],
				      "it (42), from 2025-11-23 07:45:01.417 "
				      "+0000") != NULL;
	ok(says_begin, "it says when it began");
}

/* What a log without its first files says. */
static void
test_before(void)
{
	auto_recording struct recording *r = NULL;
	auto_history struct history h = { .interval_ns = 0 };
	bool says_before = false;

	if (!open_and_read(&r, &h, files[nr_files - 1].name)) {
		ok(false, "the last file is read");
		return;
	}
	for (size_t i = 0; i < r->facts->comments.nr; i++)
		says_before |= strstr(r->facts->comments.v[i], "were live before") != NULL;
	ok(says_before && h.before.blocks > 0, "the last file says what was live before it");
}

/* A file that says again and again what is mapped, without an end. */
static void
test_many_maps(void)
{
	const uint64_t head[] = { 42, 1, REALTIME, OPENED, 0, 0 };
	auto_recording struct recording *r = NULL;
	auto_history struct history h = { .interval_ns = 0 };
	uint8_t buf[256], *at = buf;
	char path[512];
	struct err e;
	FILE *f;

	snprintf(path, sizeof path, "%s/maps.mlog", dir);
	f = fopen(path, "we");
	if (!f)
		return;
	memcpy(at, LOG_MAGIC, strlen(LOG_MAGIC));
	at += strlen(LOG_MAGIC);
	for (size_t i = 0; i < sizeof head / sizeof *head; i++)
		at = log_put(at, head[i]);
	fwrite(buf, 1, (size_t)(at - buf), f);
	for (int i = 0; i < 100000; i++) {
		putc(LOG_MAPS, f);
		putc(0, f);
	}
	fclose(f);
	ok((recording_open(&r, path, &e) <= 0 || history_read(&h, r, NULL, &e) < 0) &&
			strstr(e.msg, "so often"),
		"texts without an end are refused: %s", e.msg);
	unlink(path);
}

/* ---- events whose order is not known ---- */

#define UNORDERED_TICKS 500
#define UNORDERED_BYTES 700

/* An event each tick; at one moment the order of some since the last moment is not known. */
static bool
write_unordered(void)
{
	const struct log_settings s = { dir, "it", 42, OPENED, REALTIME, 8192, MAX_FILES };
	struct log_writer *w;
	struct err e;
	bool is_fine;

	nr_files = 0;
	is_fine = log_writer_open(&w, &s, &names, &e) == 0;
	for (uint64_t t = 1; is_fine && t <= 2 * UNORDERED_TICKS; t++) {
		const struct event v = { OPENED + t * NS_PER_TICK, 100, 1, EVENT_ALLOCATED };
		const bool is_known = t < UNORDERED_TICKS;
		const struct log_moment m = { .time_ns = v.time_ns,
			.rss_bytes = 4096,
			.nr_unordered = is_known ? 0 : 3,
			.unordered_bytes = is_known ? 0 : UNORDERED_BYTES };

		is_fine = log_writer_add(w, &v, 1, &e) == 0 &&
			(t % 50 || log_writer_flush(w, &m, &e) == 0);
		note_files(w, 0, 0);
	}
	return is_fine && log_writer_close(w, &e) == 0;
}

/* Whether the interval of that moment is marked, and none but this and the one before. */
static bool
marks_intervals(const struct history *h)
{
	const size_t of_moment = UNORDERED_TICKS / INTERVAL_TICKS;

	for (size_t i = 0; i < h->intervals.nr; i++)
		if (h->intervals.v[i].unordered_bytes !=
			(i == of_moment || i + 1 == of_moment ? UNORDERED_BYTES : 0))
			return false;
	return h->intervals.nr > of_moment;
}

static bool
warns_of(const struct recording *r, const char *words)
{
	for (size_t i = 0; i < r->facts->warnings.nr; i++)
		if (strstr(r->facts->warnings.v[i], words))
			return true;
	return false;
}

static void
test_unordered(void)
{
	for (unsigned int threads = 1; threads <= 3; threads += 2) {
		auto_recording struct recording *r = NULL;
		auto_history struct history h = { .interval_ns = INTERVAL_TICKS * NS_PER_TICK,
			.nr_threads = threads };

		if (!ok(write_unordered() && open_and_read(&r, &h, dir),
			    "a log with events in no order, by %u threads", threads))
			break;
		is_u64((uint64_t)h.unordered_bytes, UNORDERED_BYTES, "their bytes");
		ok(marks_intervals(&h), "the intervals that they may be of are marked");
		ok(warns_of(r, "the order of 3 allocations and frees (700 B)"), "a warning");
		ok(!warns_of(r, "older memdiag"), "it is not of an older memdiag");
		remove_all();
	}
}

/* Of versions without LOG_UNORDERED. */
static void
test_older(void)
{
	static const char *const magic[] = { LOG_MAGIC_1, LOG_MAGIC_2 };
	const uint64_t head[] = { 42, 1, REALTIME, OPENED, 0, 0 };
	char path[512];

	snprintf(path, sizeof path, "%s/older.mlog", dir);
	for (size_t v = 0; v < sizeof magic / sizeof *magic; v++) {
		auto_recording struct recording *r = NULL;
		auto_history struct history h = { .interval_ns = 0 };
		uint8_t buf[256], *at = buf + strlen(magic[v]);
		FILE *f = fopen(path, "we");

		memcpy(buf, magic[v], strlen(magic[v]));
		for (size_t i = 0; i < sizeof head / sizeof *head; i++)
			at = log_put(at, head[i]);
		*at++ = LOG_END;
		at = log_put(log_put(at, 0), 1);
		fwrite(buf, 1, (size_t)(at - buf), f);
		fclose(f);
		ok(open_and_read(&r, &h, path) && warns_of(r, "older memdiag"),
			"version %zu is read, and says what is not exact", v + 1);
		unlink(path);
	}
}

int
main(int argc, char **argv)
{
	const unsigned int first = argc > 1 ? (unsigned int)atoi(argv[1]) : 1;
	const unsigned int nr = argc > 2 ? (unsigned int)atoi(argv[2]) : 3;

	setenv("TZ", "UTC", 1);
	if (!mkdtemp(dir))
		return 99;
	for (unsigned int i = first; i < first + nr; i++) {
		seed = i;
		if (!write_log(9000 + pick(13000), 4096 + pick(8000), 1 + pick(60)))
			break;
		seed = i;
		test_runs();
		is_equal(dir, 0, nr_events, now_ticks, 0, false);
		test_profile();
		test_before();
		test_gaps();
		test_cuts();
		remove_all();
	}
	test_many_maps();
	test_unordered();
	test_older();
	rmdir(dir);
	return tap_end();
}
