/*
 * A log that is followed while it is written, against the plainest sums of its events: files come
 * and go, bytes come one after the other, and a reader that is late finds a gap.
 */
#include <config.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording/follow.h"
#include "recording/log-format.h"
#include "recording/log-writer.h"
#include "recording/recording-open.h"
#include "tap.h"

#define NR_SITES 8
#define MAX_BLOCKS 2000
#define MAX_INTERVALS 4096
#define INTERVAL_TICKS 100
#define NS_PER_TICK UINT64_C(1000000)
#define OPENED UINT64_C(7000000123)

static char dir[] = "/tmp/memdiag-follow-XXXXXX";
static unsigned int seed = 1;

static unsigned int
pick(unsigned int below)
{
	return (unsigned int)rand_r(&seed) % below;
}

/* ---- what is written, and its sums ---- */

static struct {
	uint32_t site;
	uint64_t bytes;
} block[MAX_BLOCKS];
static size_t nr_blocks;

struct interval {
	int64_t max_bytes, allocated_bytes, allocated_blocks, freed_bytes;
};
static struct interval truth[MAX_INTERVALS];
static int64_t live_bytes;
static uint64_t now_ticks, interval;

static int
give_site(void *context, uint32_t site, struct wire_site *ret, struct err *e)
{
	(void)context;
	(void)e;
	*ret = (struct wire_site){ .node = site + 1 };
	return 0;
}

static int
give_node(void *context, uint32_t node, struct wire_node *ret, struct err *e)
{
	(void)context;
	(void)e;
	*ret = (struct wire_node){ .address = 0x401000 + node };
	return 0;
}

static int
give_maps(void *context, const char **ret, struct err *e)
{
	(void)context;
	(void)e;
	*ret = "00400000-00500000 r-xp 00001000 08:01 1    /nowhere/it\n";
	return 0;
}

static const struct log_namer names = { NULL, give_site, give_node, give_maps };

static struct log_writer *
begin(uint64_t max_file_bytes, uint32_t max_files)
{
	static uint64_t realtime_ns = UINT64_C(1763883901417000000);
	const struct log_settings s = { dir, "it", 4711, OPENED, realtime_ns += 1000000000,
		max_file_bytes, max_files };
	struct log_writer *w = NULL;
	struct err e = { 0 };

	memset(truth, 0, sizeof truth);
	nr_blocks = 0;
	live_bytes = 0;
	now_ticks = interval = 0;
	if (!ok(log_writer_open(&w, &s, &names, &e) == 0, "a log begins"))
		exit(99);
	return w;
}

static void
go_on(void)
{
	now_ticks += pick(5);
	for (; interval < now_ticks / INTERVAL_TICKS; interval++)
		truth[interval + 1].max_bytes = live_bytes;
}

static struct event
make_event(void)
{
	const size_t i = nr_blocks ? pick((unsigned int)nr_blocks) : 0;
	struct event v = { .time_ns = OPENED + now_ticks * NS_PER_TICK };

	if (nr_blocks == MAX_BLOCKS || (nr_blocks && pick(5) < 2)) {
		v.kind = EVENT_FREED;
		v.site = block[i].site;
		v.bytes = block[i].bytes;
		block[i] = block[--nr_blocks];
		truth[interval].freed_bytes += (int64_t)v.bytes;
		live_bytes -= (int64_t)v.bytes;
		return v;
	}
	v.kind = EVENT_ALLOCATED;
	v.site = block[nr_blocks].site = pick(NR_SITES);
	v.bytes = block[nr_blocks++].bytes = 1 + pick(1000000);
	truth[interval].allocated_bytes += (int64_t)v.bytes;
	truth[interval].allocated_blocks++;
	live_bytes += (int64_t)v.bytes;
	if (live_bytes > truth[interval].max_bytes)
		truth[interval].max_bytes = live_bytes;
	return v;
}

static bool
write_round(struct log_writer *w)
{
	struct log_moment m = { .rss_bytes = 4096 };
	struct err e = { 0 };

	for (unsigned int nr = pick(100); nr; nr--) {
		const struct event v = make_event();

		if (log_writer_add(w, &v, 1, &e) < 0)
			return false;
		if (!pick(10))
			go_on();
	}
	m.time_ns = OPENED + now_ticks * NS_PER_TICK;
	return log_writer_flush(w, &m, &e) == 0;
}

/* ---- what is followed ---- */

struct reader {
	struct recording *r;
	struct follow *f;
	struct interval v[MAX_INTERVALS];
	bool has[MAX_INTERVALS];
	bool has_failed;
	struct err e;
};

static struct reader *
open_reader(const char *path)
{
	struct reader *r = calloc(1, sizeof *r);

	if (!r || recording_open(&r->r, path, &r->e) <= 0 ||
		follow_new(&r->f, r->r, INTERVAL_TICKS * NS_PER_TICK, &r->e) < 0) {
		printf("# %s\n", r ? r->e.msg : "no memory");
		exit(99);
	}
	return r;
}

static void
close_reader(struct reader *r)
{
	follow_free(r->f);
	recording_free(r->r);
	free(r);
}

static void
take_intervals(struct reader *r)
{
	const struct history *h = follow_history(r->f);

	for (size_t i = 0; i < h->intervals.nr; i++) {
		const struct history_interval *k = &h->intervals.v[i];
		const size_t at = h->first_interval + i;

		if (at >= MAX_INTERVALS || r->has[at])
			r->has_failed = true;
		else if (k->max.live.bytes >= 0) {
			r->has[at] = true;
			r->v[at] = (struct interval){ k->max.live.bytes, k->allocated.bytes,
				k->allocated.blocks, k->freed.bytes };
		}
	}
	follow_drop(r->f);
}

/* Read all that there is. */
static enum follow_state
catch_up(struct reader *r)
{
	enum follow_state state = FOLLOW_MORE;

	while (state == FOLLOW_MORE && !r->has_failed) {
		if (follow_read(r->f, &state, &r->e) < 0) {
			printf("# %s\n", r->e.msg);
			r->has_failed = true;
			break;
		}
		take_intervals(r);
	}
	return state;
}

/* Take the last interval as well, which has not ended. */
static void
take_last(struct reader *r)
{
	if (follow_show(r->f, &r->e) < 0)
		r->has_failed = true;
	else
		take_intervals(r);
}

/* How many intervals from FIRST on are not those that were written. */
static unsigned int
nr_wrong(const struct reader *r, size_t first)
{
	unsigned int nr = 0;

	for (size_t i = first; i <= interval; i++) {
		const struct interval *a = &r->v[i], *b = &truth[i];

		if (r->has[i] && memcmp(a, b, sizeof *a) == 0)
			continue;
		if (!nr++)
			printf("# interval %zu: maximum %" PRId64 ", not %" PRId64
			       ", allocated %" PRId64 ", not %" PRId64 ", freed %" PRId64
			       ", not %" PRId64 "\n",
				i, a->max_bytes, b->max_bytes, a->allocated_bytes,
				b->allocated_bytes, a->freed_bytes, b->freed_bytes);
	}
	return nr;
}

/* ---- tests ---- */

static void
test_rotation(void)
{
	struct log_writer *w = begin(4096, 3);
	struct reader *r = open_reader(dir);
	unsigned int nr_early = 0, nr_failed = 0;
	struct err e = { 0 };

	for (int i = 0; i < 600; i++) {
		nr_failed += !write_round(w);
		nr_early += catch_up(r) != FOLLOW_WAIT;
	}
	is_u64(nr_failed, 0, "rotation: all is written");
	ok(log_writer_sum(w).nr_removed > 20, "rotation: %u files come and go",
		log_writer_sum(w).nr_removed);
	is_u64(nr_early, 0, "rotation: the reader waits for more each time");
	ok(!r->has_failed && r->r->facts->warnings.nr == 0, "rotation: there is no gap");
	ok(log_writer_close(w, &e) == 0 && catch_up(r) == FOLLOW_CLOSED,
		"rotation: its end is seen");
	take_last(r);
	is_u64(nr_wrong(r, 0), 0, "rotation: each interval is right");
	is_u64((uint64_t)follow_history(r->f)->live.bytes, (uint64_t)live_bytes,
		"rotation: and so is what is live");
	close_reader(r);
}

/* Files have gone before they are read. */
static void
test_gap(void)
{
	struct log_writer *w = begin(4096, 2);
	struct reader *r = open_reader(dir);
	uint64_t late;
	struct err e = { 0 };

	for (int i = 0; i < 20; i++)
		write_round(w);
	catch_up(r);
	for (int i = 0; i < 300; i++)
		write_round(w);
	late = interval;
	catch_up(r);
	ok(!r->has_failed && r->r->facts->warnings.nr == 1 && r->r->is_partial == false &&
			r->r->facts->is_partial,
		"a gap: it is said");
	for (int i = 0; i < 100; i++) {
		write_round(w);
		catch_up(r);
	}
	log_writer_close(w, &e);
	ok(catch_up(r) == FOLLOW_CLOSED, "a gap: it goes on behind it");
	take_last(r);
	is_u64(nr_wrong(r, late + 1), 0, "a gap: what follows is right");
	ok(!r->has[late / 2], "a gap: what is in it is not known");
	ok(r->has[0] && memcmp(&r->v[0], &truth[0], sizeof truth[0]) == 0,
		"a gap: what was before it stays");
	is_u64((uint64_t)follow_history(r->f)->live.bytes, (uint64_t)live_bytes,
		"a gap: what is live is right");
	close_reader(r);
}

/* The only file in the directory, into memory; its name is put into NAME. */
static char *
take_file(size_t *ret, char *name, size_t size)
{
	DIR *d = opendir(dir);
	const struct dirent *entry;
	char *text = malloc(1 << 24);
	FILE *f;

	*ret = 0;
	while (d && (entry = readdir(d))) {
		if (*entry->d_name == '.')
			continue;
		snprintf(name, size, "%s/%s", dir, entry->d_name);
		f = fopen(name, "r");
		*ret = f && text ? fread(text, 1, 1 << 24, f) : 0;
		if (f)
			fclose(f);
		unlink(name);
	}
	if (d)
		closedir(d);
	return text;
}

static void
remove_all(void)
{
	size_t len;
	char name[512];

	free(take_file(&len, name, sizeof name));
}

/* Write a round with a block that is freed in it: nothing is live afterwards. */
static bool
write_pair(struct log_writer *w)
{
	const uint64_t now_ns = OPENED + ++now_ticks * NS_PER_TICK;
	const struct event v[] = {
		{ .time_ns = now_ns, .bytes = 100, .site = 1, .kind = EVENT_ALLOCATED },
		{ .time_ns = now_ns, .bytes = 100, .site = 1, .kind = EVENT_FREED },
	};
	const struct log_moment m = { .time_ns = now_ns, .rss_bytes = 4096 };
	struct err e = { 0 };

	return log_writer_add(w, v, 2, &e) == 0 && log_writer_flush(w, &m, &e) == 0;
}

/* Files have gone, and what is live behind the gap is what was live before it. */
static void
test_same_live(void)
{
	struct log_writer *w;
	struct reader *r;
	unsigned int nr_failed = 0;
	struct err e = { 0 };

	remove_all();
	w = begin(4096, 2);
	r = open_reader(dir);
	for (int i = 0; i < 20; i++)
		nr_failed += !write_pair(w);
	catch_up(r);
	ok(r->r->facts->warnings.nr == 0, "nothing live: no gap so far");
	while (log_writer_sum(w).nr_removed < 5 && !nr_failed)
		nr_failed += !write_pair(w);
	catch_up(r);
	is_u64(nr_failed, 0, "nothing live: all is written");
	ok(!r->has_failed && r->r->facts->warnings.nr == 1 &&
			strstr(r->r->facts->warnings.v[0], "there is a gap"),
		"nothing live: a gap is said");
	log_writer_close(w, &e);
	ok(catch_up(r) == FOLLOW_CLOSED && follow_history(r->f)->allocated.blocks > 0,
		"nothing live: it goes on");
	close_reader(r);
}

/* A file comes in pieces, cut anywhere, of which none is locked. */
static void
test_pieces(unsigned int most)
{
	struct log_writer *w;
	struct reader *r = NULL;
	char name[512], *text;
	unsigned int nr_early = 0;
	size_t len, at = 600;
	struct err e = { 0 };
	int fd;

	remove_all();
	w = begin(0, 0);
	for (int i = 0; i < 60; i++)
		write_round(w);
	log_writer_close(w, &e);
	text = take_file(&len, name, sizeof name);
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ok(len > 2000 && write(fd, text, at) == (ssize_t)at, "pieces of %u: a file begins", most);
	r = open_reader(name);
	while (at < len) {
		size_t n = 1 + pick(most);

		n = n < len - at ? n : len - at;
		if (write(fd, text + at, n) != (ssize_t)n)
			break;
		at += n;
		/* Behind the record of the end the checksum comes. */
		nr_early += catch_up(r) == FOLLOW_CLOSED && at + 8 < len;
		if (at < len && !pick(50))
			catch_up(r);
	}
	is_u64(nr_early, 0, "pieces: it does not end before");
	ok(!r->has_failed && catch_up(r) == FOLLOW_CLOSED, "pieces: it ends");
	take_last(r);
	is_u64(nr_wrong(r, 0), 0, "pieces: each interval is right");
	ok(r->r->facts->warnings.nr == 0, "pieces: nothing is missing");
	close_reader(r);
	close(fd);
	free(text);
}

/* Its writer is killed: the file has no end. */
static void
test_left(void)
{
	char name[512], *text;
	struct log_writer *w;
	struct reader *r;
	size_t len;
	struct err e = { 0 };
	int fd;

	remove_all();
	w = begin(0, 0);
	for (int i = 0; i < 60; i++)
		write_round(w);
	r = open_reader(dir);
	ok(catch_up(r) == FOLLOW_WAIT && catch_up(r) == FOLLOW_WAIT,
		"a log that is locked is waited for");
	close_reader(r);
	text = take_file(&len, name, sizeof name);
	log_writer_close(w, &e);
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ok(write(fd, text, len) == (ssize_t)len, "a log has no end");
	r = open_reader(dir);
	ok(catch_up(r) == FOLLOW_WAIT, "one that has grown, and is not locked, is waited for");
	ok(catch_up(r) == FOLLOW_LEFT && catch_up(r) == FOLLOW_LEFT, "it was left");
	for (int i = 0; i < 40; i++)
		catch_up(r);
	ok(!r->has_failed, "it can be asked as often as one likes");
	take_last(r);
	follow_end(r->f, true);
	ok(r->r->facts->is_partial && strstr(r->r->facts->warnings.v[0], "has no end"),
		"which is said");
	is_u64(nr_wrong(r, 0), 0, "all of it is there");
	close_reader(r);
	r = open_reader(dir);
	catch_up(r);
	memset(text, 0x55, len);
	ok(!r->has_failed && write(fd, text, len) == (ssize_t)len, "a log is damaged");
	ok(catch_up(r) == FOLLOW_CLOSED && !r->has_failed && catch_up(r) == FOLLOW_CLOSED,
		"that is its end");
	ok(r->r->facts->is_partial && r->r->facts->warnings.nr == 1 &&
			strstr(r->r->facts->warnings.v[0], "damaged"),
		"which is said");
	take_last(r);
	is_u64(nr_wrong(r, 0), 0, "what is before is there");
	close_reader(r);
	close(fd);
	free(text);
}

/* ---- files that are made by hand ---- */

static uint8_t made[1 << 16];
static size_t nr_made;

static void
put(uint64_t v)
{
	nr_made = (size_t)(log_put(made + nr_made, v) - made);
}

static void
put_code(uint8_t code)
{
	made[nr_made++] = code;
}

/* Begin a file NUMBER at TICKS, with site 1. */
static void
make_file(unsigned int number, uint64_t ticks)
{
	const uint64_t head[] = { 4711, number, 1, 1, ticks, 0 };

	nr_made = strlen(LOG_MAGIC);
	memcpy(made, LOG_MAGIC, nr_made);
	for (size_t i = 0; i < sizeof head / sizeof *head; i++)
		put(head[i]);
	put_code(LOG_SITE);
	put(1);
	put(0);
}

static void
put_event(unsigned int kind, uint64_t bytes)
{
	put_code((uint8_t)(LOG_WRITTEN + kind));
	put(1);
	put(bytes);
}

static void
put_time(uint64_t ticks)
{
	put_code(LOG_TIME);
	put(ticks);
}

static void
write_file(unsigned int number)
{
	char name[512];
	FILE *f;

	snprintf(name, sizeof name, "%s/%u.mlog", dir, number);
	f = fopen(name, "w");
	ok(f && fwrite(made, 1, nr_made, f) == nr_made && fclose(f) == 0, "file %u is made",
		number);
}

static void
end_file(unsigned int number, uint64_t nr_events, bool is_last)
{
	put_code(LOG_END);
	put(nr_events);
	put(is_last);
	write_file(number);
}

/* A file behind a gap says what is live, and nothing more. */
static void
test_no_events(void)
{
	struct reader *r;

	remove_all();
	make_file(1, 0);
	put_event(EVENT_ALLOCATED, 100);
	put_time(100);
	end_file(1, 1, false);
	r = open_reader(dir);
	catch_up(r);
	make_file(3, 200);
	put_code(LOG_LIVE);
	put(1);
	put(1);
	put(100);
	write_file(3);
	catch_up(r);
	ok(!r->has_failed && r->r->facts->warnings.nr == 0, "no events: more may be live");
	end_file(3, 0, true);
	ok(catch_up(r) == FOLLOW_CLOSED && !r->has_failed, "no events: it is read");
	ok(r->r->facts->warnings.nr == 1 && strstr(r->r->facts->warnings.v[0], "there is a gap"),
		"no events: the gap is said");
	close_reader(r);
}

/* Each time of 33 intervals ends with a block, and then there are more than can be kept. */
static void
test_long(void)
{
	const uint64_t interval_ns = NS_PER_TICK;
	enum follow_state state = FOLLOW_MORE;
	struct recording *r = NULL;
	struct follow *f = NULL;
	struct err e = { 0 };
	uint64_t end_ns = 0, first_ns = 0;
	int64_t allocated = 0;
	unsigned int nr_times = 0, nr_odd = 0, nr_most = 0;

	remove_all();
	make_file(1, 0);
	/* So that they are taken up to an odd one: half of what one is that is twice as long. */
	put_time(2);
	for (int i = 0; i < 2000; i++) {
		put_time(33);
		put_event(EVENT_ALLOCATED, 1);
	}
	put_time(HISTORY_MAX_INTERVALS * 3);
	put_event(EVENT_ALLOCATED, 1);
	end_file(1, 2001, true);
	ok(recording_open(&r, dir, &e) > 0 && follow_new(&f, r, interval_ns, &e) == 0,
		"long: it is followed %s", e.msg);
	while (state == FOLLOW_MORE && follow_read(f, &state, &e) == 0) {
		const struct history *h = follow_history(f);

		if (state == FOLLOW_CLOSED)
			follow_show(f, &e);
		nr_odd += h->first_interval % 2;
		for (size_t i = 0; i < h->intervals.nr; i++) {
			const uint64_t begin_ns = follow_interval_ns(f, i);

			if (h->interval_ns == interval_ns)
				nr_most = (unsigned int)(i + 1) > nr_most ? (unsigned int)(i + 1)
									  : nr_most;
			else if (!first_ns)
				first_ns = begin_ns;
			nr_times += begin_ns != end_ns;
			end_ns = (h->first_interval + i + 1) * h->interval_ns;
			allocated += h->intervals.v[i].allocated.blocks;
		}
		follow_drop(f);
	}
	ok(state == FOLLOW_CLOSED, "long: to its end %s", e.msg);
	ok(nr_most < HISTORY_MAX_INTERVALS / 4 && nr_odd && first_ns,
		"long: intervals are taken before there are many, at most %u, and become longer",
		nr_most);
	is_u64(nr_times, 0, "long: each one begins where the one before ends");
	is_u64((uint64_t)allocated, 2001, "long: they have all");
	follow_free(f);
	recording_free(r);
}

int
main(void)
{
	if (!mkdtemp(dir))
		return 99;
	test_rotation();
	remove_all();
	test_gap();
	test_same_live();
	test_pieces(1);
	test_pieces(300);
	test_left();
	test_no_events();
	test_long();
	remove_all();
	rmdir(dir);
	return tap_end();
}
