/*
 * The files of a log, read by a decoder of this test: what is in them is what was added, each file
 * begins with what was live, no file is too long, and disks that fail are said and survived.
 *
 *	log-writer [SEED]
 */
#include <config.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording/stream.h"
#include "recording/log-format.h"
#include "recording/log-writer.h"
#include "tap.h"

#define NR_SITES 300
#define NR_EVENTS 400000
#define SECOND UINT64_C(1000000000)
#define REALTIME (UINT64_C(1763883901) * SECOND + 417000000)

static char dir[] = "/tmp/memdiag-log-XXXXXX";

/* ---- a process: site I has the node I, whose caller is the node I / 2 ---- */

static int
give_site(void *context, uint32_t site, struct wire_site *ret, struct err *e)
{
	(void)context;
	if (site == 13)
		return err_set(e, 0, "it is gone");
	*ret = (struct wire_site){ .node = site };
	return 0;
}

static int
give_node(void *context, uint32_t node, struct wire_node *ret, struct err *e)
{
	(void)context;
	(void)e;
	*ret = (struct wire_node){ .address = 0x401000 + 16 * node, .parent = node / 2 };
	/* A ring. */
	if (node == 17)
		ret->parent = 17;
	return 0;
}

static int
give_maps(void *context, const char **ret, struct err *e)
{
	(void)e;
	*ret = context;
	return 0;
}

static const struct log_namer names = { (void *)"00400000-00500000 r-xp 0 08:01 1 /bin/it\n",
	give_site, give_node, give_maps };

/* ---- the decoder ---- */

struct ledger {
	int64_t blocks[NR_SITES], bytes[NR_SITES];
};

struct decoded {
	uint8_t *text;
	const uint8_t *at, *end;
	uint64_t head[6]; /* pid, seq, real time, opened, ticks, bytes of the name */
	struct ledger begin, now;
	uint32_t node_parent[NR_SITES + 1];
	bool has_node[NR_SITES + 1], has_site[NR_SITES], has_maps;
	uint64_t nr_events, ticks, nr_moments, site_13_node;
	uint64_t hash; /* of all events and their times */
	int end_flag;  /* -1: none */
	bool is_bad;
};

static uint64_t
number(struct decoded *d)
{
	uint64_t v = 0;

	d->is_bad |= !log_get(&d->at, d->end, &v);
	return v;
}

static uint64_t
mix(uint64_t hash, uint64_t kind, uint64_t site, uint64_t bytes, uint64_t ticks)
{
	return (hash ^ kind ^ site << 2 ^ bytes << 20 ^ ticks << 40) * UINT64_C(0x100000001b3) +
		bytes;
}

static void
take(struct decoded *d, unsigned int kind, uint64_t site, uint64_t bytes)
{
	const int sign = kind == EVENT_ALLOCATED ? 1 : -1;

	if (site >= NR_SITES || !d->has_site[site]) {
		d->is_bad = true;
		return;
	}
	d->now.blocks[site] += sign;
	d->now.bytes[site] += sign * (int64_t)bytes;
	d->is_bad |= d->now.blocks[site] < 0 || d->now.bytes[site] < 0;
	d->hash = mix(d->hash, kind, site, bytes, d->ticks);
	d->nr_events++;
}

static void
read_event(struct decoded *d, unsigned int code, struct log_pairs *pairs)
{
	struct log_pair p = { .is_used = true };
	unsigned int kind, slot;

	if (code < LOG_SECOND) {
		kind = code / 64;
		p = pairs->first[code % 64];
	} else if (code < LOG_WRITTEN) {
		kind = (code - LOG_SECOND) / 16;
		slot = (code % 16) << 8 | *d->at++;
		p = pairs->second[slot];
		pairs->first[slot % 64] = p;
	} else {
		kind = code - LOG_WRITTEN;
		p.site = (uint32_t)number(d);
		p.bytes = number(d);
		slot = log_slot(p.site, p.bytes);
		pairs->second[slot] = pairs->first[slot % 64] = p;
	}
	d->is_bad |= !p.is_used;
	take(d, kind, p.site, p.bytes);
}

static void
read_node(struct decoded *d)
{
	const uint64_t node = number(d), parent = number(d);

	number(d);
	if (node > NR_SITES || d->has_node[node] || (parent && !d->has_node[parent])) {
		d->is_bad = true;
		return;
	}
	d->has_node[node] = true;
	d->node_parent[node] = (uint32_t)parent;
}

static void
read_live(struct decoded *d)
{
	const uint64_t site = number(d);

	if (site >= NR_SITES || d->nr_events) {
		d->is_bad = true;
		return;
	}
	d->begin.blocks[site] = d->now.blocks[site] += (int64_t)number(d);
	d->begin.bytes[site] = d->now.bytes[site] += (int64_t)number(d);
}

static void
read_site(struct decoded *d)
{
	const uint64_t site = number(d), node = number(d);

	if (site >= NR_SITES || node > NR_SITES || d->has_site[site]) {
		d->is_bad = true;
		return;
	}
	d->has_site[site] = true;
	/* Sites 13 cannot be read, and those below 17 are in a ring. */
	d->is_bad |= node && (node != site || !d->has_node[node]);
	if (site == 13)
		d->site_13_node = node;
}

static void
read_numbers(struct decoded *d, unsigned int nr)
{
	while (nr--)
		number(d);
}

static void
read_other(struct decoded *d, unsigned int code)
{
	uint64_t len;

	switch (code) {
	case LOG_TIME:
		d->ticks += number(d);
		return;
	case LOG_MOMENT:
		read_numbers(d, 5);
		d->nr_moments++;
		return;
	case LOG_LIVE:
		read_live(d);
		return;
	case LOG_NODE:
		read_node(d);
		return;
	case LOG_SITE:
		read_site(d);
		return;
	case LOG_MAPS:
		len = number(d);
		d->is_bad |= len != strlen(names.context) || memcmp(d->at, names.context, len) != 0;
		d->at += len;
		d->has_maps = true;
		return;
	case LOG_END:
		d->is_bad |= number(d) != d->nr_events;
		d->end_flag = (int)number(d);
		return;
	}
	d->is_bad = true;
}

static void
decode(struct decoded *d)
{
	static struct log_pairs pairs;
	unsigned int code;

	pairs = (struct log_pairs){ 0 };
	d->end_flag = -1;
	d->at = d->text + strlen(LOG_MAGIC);
	for (int i = 0; i < 6; i++)
		d->head[i] = number(d);
	d->is_bad |= d->head[5] != strlen("it") || memcmp(d->at, "it", 2) != 0;
	d->at += 2;
	d->ticks = d->head[4];
	while (d->at < d->end && d->end_flag < 0 && !d->is_bad) {
		code = *d->at++;
		if (code < LOG_TIME)
			read_event(d, code, &pairs);
		else
			read_other(d, code);
	}
	d->is_bad |= d->at != d->end;
}

/* Read the file NAME whole, which is to be freed.  Whether it could be. */
static bool
read_file(struct decoded *d, const char *name)
{
	char path[512];
	struct err e;
	struct stream *stream;
	size_t nr = 0;
	long n;

	*d = (struct decoded){ .text = malloc(16 << 20) };
	snprintf(path, sizeof path, "%s/%s", dir, name);
	stream = stream_of_file(open(path, O_RDONLY | O_CLOEXEC), path, &e);
	while ((n = stream_read(stream, (char *)d->text + nr, (16 << 20) - nr, &e)) > 0)
		nr += (size_t)n;
	d->end = d->text + nr;
	n = n < 0 || nr < strlen(LOG_MAGIC) || memcmp(d->text, LOG_MAGIC, strlen(LOG_MAGIC)) != 0;
	stream_free(stream);
	return !n;
}

/* ---- what was added ---- */

static struct ledger truth;
static uint64_t truth_hash;
static unsigned int seed;

static unsigned int
pick(unsigned int below)
{
	return (unsigned int)rand_r(&seed) % below;
}

/* A block of SITE, most of which have few sizes. */
static uint64_t
pick_bytes(uint32_t site)
{
	return pick(8)	   ? 16 * (1 + site % 40)
		: pick(20) ? pick(100000)
			   : pick(1000) * UINT64_C(1) << 32;
}

static struct {
	uint32_t site;
	uint64_t bytes;
} blocks[50000];
static size_t nr_blocks;

static struct event
make_event(uint64_t time_ns)
{
	struct event v = { .time_ns = time_ns };

	if (nr_blocks && (pick(2) || nr_blocks == sizeof blocks / sizeof *blocks)) {
		const size_t i = pick(4) ? nr_blocks - 1 : pick((unsigned int)nr_blocks);

		v.kind = pick(3) ? EVENT_FREED : EVENT_FREED_SOON;
		v.site = blocks[i].site;
		v.bytes = blocks[i].bytes;
		blocks[i] = blocks[--nr_blocks];
	} else {
		v.site = pick(3) ? pick(20) : pick(NR_SITES);
		v.bytes = pick_bytes(v.site);
		blocks[nr_blocks].site = v.site;
		blocks[nr_blocks++].bytes = v.bytes;
	}
	truth.blocks[v.site] += v.kind == EVENT_ALLOCATED ? 1 : -1;
	truth.bytes[v.site] += v.kind == EVENT_ALLOCATED ? (int64_t)v.bytes : -(int64_t)v.bytes;
	truth_hash = mix(truth_hash, v.kind, v.site, v.bytes, (time_ns - 5 * SECOND) / 1000000);
	return v;
}

static void
add_events(struct log_writer *w, size_t nr, uint64_t *time_ns)
{
	struct event v[1000];
	struct err e;

	while (nr) {
		const size_t n = nr < 1000 ? nr : 1 + pick(1000);

		for (size_t i = 0; i < n; i++) {
			*time_ns += pick(10) ? 0 : pick(100000);
			v[i] = make_event(*time_ns);
		}
		nr -= n;
		if (log_writer_add(w, v, n, &e) < 0)
			ok(false, "events are added: %s", e.msg);
		if (!pick(4) &&
			log_writer_flush(w,
				&(struct log_moment){ .time_ns = *time_ns, .rss_bytes = 4096 },
				&e) < 0)
			ok(false, "the file is flushed: %s", e.msg);
	}
}

/* ---- the directory ---- */

static char *file_names[1000];
static int nr_files;

static int
compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void
list_files(void)
{
	DIR *d = opendir(dir);
	struct dirent *entry;

	while (nr_files)
		free(file_names[--nr_files]);
	while (d && (entry = readdir(d)))
		if (*entry->d_name != '.')
			file_names[nr_files++] = strdup(entry->d_name);
	if (d)
		closedir(d);
	qsort(file_names, (size_t)nr_files, sizeof *file_names, compare);
}

static void
remove_all(void)
{
	char path[512];

	list_files();
	for (int i = 0; i < nr_files; i++) {
		snprintf(path, sizeof path, "%s/%s", dir, file_names[i]);
		unlink(path);
	}
}

static struct log_writer *
begin(uint64_t max_file_bytes, uint32_t max_files)
{
	const struct log_settings s = { dir, "it", 42, 5 * SECOND, REALTIME, max_file_bytes,
		max_files };
	struct log_writer *w = NULL;
	struct err e;

	truth = (struct ledger){ 0 };
	truth_hash = 0;
	nr_blocks = 0;
	if (!ok(log_writer_open(&w, &s, &names, &e) == 0, "a log begins"))
		printf("# %s\n", e.msg);
	return w;
}

static bool
are_equal(const struct ledger *a, const struct ledger *b)
{
	return memcmp(a, b, sizeof *a) == 0;
}

/* All files have what was added, in its order. */
static void
test_all(void)
{
	struct log_writer *w = begin(32768, 1000);
	uint64_t time_ns = 5 * SECOND, hash = 0, nr = 0, largest = 0;
	struct ledger last = { 0 };
	struct log_written sum;
	bool begins = true, is_bad = false, has_seqs = true, has_ends = true;
	struct err e;

	add_events(w, NR_EVENTS, &time_ns);
	sum = log_writer_sum(w);
	ok(log_writer_close(w, &e) == 0, "it ends");
	is_u64(sum.nr_events, NR_EVENTS, "all events were written");
	ok(sum.nr_unknown >= sum.nr_files, "stacks that cannot be read are counted");
	list_files();
	ok(nr_files > 3 && nr_files == (int)sum.nr_files, "in several files (%d)", nr_files);
	is_str(nr_files ? file_names[0] : "", "memdiag.20251123-074501.417.42.000001.mlog.zst",
		"whose names have the time, the process and a number");
	for (int i = 0; i < nr_files; i++) {
		struct decoded d;
		char path[512];
		struct stat st;

		snprintf(path, sizeof path, "%s/%s", dir, file_names[i]);
		if (stat(path, &st) == 0 && (uint64_t)st.st_size > largest)
			largest = (uint64_t)st.st_size;
		is_bad |= !read_file(&d, file_names[i]);
		d.hash = hash;
		decode(&d);
		is_bad |= d.is_bad || !d.has_maps || d.site_13_node;
		has_seqs &= d.head[0] == 42 && d.head[1] == (uint64_t)i + 1 &&
			d.head[2] == REALTIME && d.head[3] == 5 * SECOND;
		has_ends &= d.end_flag == (i == nr_files - 1);
		begins &= are_equal(&last, &d.begin);
		last = d.now;
		hash = d.hash;
		nr += d.nr_events;
		free(d.text);
	}
	ok(!is_bad, "each can be read, has stacks before they are used, and what is mapped");
	ok(has_seqs, "each has its number, the process and the times");
	ok(has_ends, "each says whether another one follows");
	ok(begins, "each begins with what was live");
	ok(are_equal(&last, &truth), "at the end that is live that should be");
	ok(hash == truth_hash && nr == NR_EVENTS, "all events are there, in their order");
	ok(largest <= 32768, "no file is longer than asked for (%" PRIu64 ")", largest);
	printf("# %.2f bytes an event before compression, %.2f on the disk\n",
		(double)sum.raw_bytes / NR_EVENTS, (double)sum.file_bytes / NR_EVENTS);
	remove_all();
}

/* Only the newest files stay; a number that is made smaller holds at once. */
static void
test_limit(void)
{
	struct log_writer *w = begin(16384, 3);
	uint64_t time_ns = 5 * SECOND;
	int most = 0;
	struct err e;

	for (int i = 0; i < 40; i++) {
		add_events(w, 10000, &time_ns);
		list_files();
		most = nr_files > most ? nr_files : most;
	}
	ok(most == 3 || most == 4, "there are three files, and one that has no event yet (%d)",
		most);
	ok(log_writer_set_files(w, 2, &e) == 0, "less are asked for");
	list_files();
	ok(nr_files == 2, "then there are two");
	ok(log_writer_sum(w).nr_removed + 2 == log_writer_sum(w).nr_files,
		"those that were removed are counted");
	for (int i = 0; i < 10000 && nr_files < 3; i++) {
		add_events(w, 50, &time_ns);
		list_files();
	}
	ok(nr_files == 3, "another one has no event yet");
	log_writer_close(w, &e);
	list_files();
	ok(nr_files == 2, "there are two when it ends");
	remove_all();
}

/* A process that frees what it has not allocated, and other nonsense. */
static void
test_unmatched(void)
{
	struct log_writer *w = begin(0, 0);
	const uint64_t t = 5 * SECOND;
	const struct event v[] = {
		{ t, 5, 2, EVENT_ALLOCATED },
		{ t, 5, 2, EVENT_ALLOCATED },
		{ t, 5, 2, EVENT_ALLOCATED },
		{ t, 10, 1, EVENT_FREED },
		{ t, 10, 1, EVENT_ALLOCATED },
		{ t, 11, 1, EVENT_FREED },
		{ t, 9, 1, EVENT_FREED },
		{ t - 1, 10, 1, EVENT_FREED },
		{ t, UINT64_MAX, 1, EVENT_ALLOCATED },
		{ t, 1, UINT32_MAX, EVENT_ALLOCATED },
		{ t, 5, 2, EVENT_FREED },
		{ t, 1, 1, EVENT_TIME },
	};
	struct decoded d;
	struct err e;

	ok(log_writer_add(w, v, sizeof v / sizeof *v, &e) == 0, "nonsense is no error");
	is_u64(log_writer_sum(w).nr_events, 6, "what can be is written");
	is_u64(log_writer_sum(w).nr_unmatched, 6, "and the rest is counted");
	log_writer_close(w, &e);
	list_files();
	ok(read_file(&d, file_names[0]), "the file can be read");
	decode(&d);
	ok(!d.is_bad && d.now.blocks[2] == 2 && d.now.bytes[2] == 10 && d.now.bytes[1] == 0,
		"it has that");
	free(d.text);
	remove_all();
}

/* Mappings that cannot be: of what the site has, or as a block. */
static void
test_unmatched_mappings(void)
{
	struct log_writer *w = begin(0, 0);
	const uint64_t t = 5 * SECOND;
	const struct event possible[] = {
		{ t, 100, 1, EVENT_MAPPED },
		{ t, 1, 1, EVENT_GROWN },
		{ t, UINT64_C(1) << 57, 1, EVENT_MAPPED },
		{ t, 100, 1, EVENT_SHRUNK },
		{ t, UINT64_C(1) << 57, 1, EVENT_UNMAPPED },
		{ t, 5, 2, EVENT_ALLOCATED },
	};
	const struct event impossible[] = {
		{ t, 1, 1, EVENT_SHRUNK }, /* nothing would be left of the last one */
		{ t, 2, 1, EVENT_UNMAPPED },
		{ t, 0, 1, EVENT_UNMAPPED },
		{ t, 1, 1, EVENT_FREED },
		{ t, 1, 1, EVENT_ALLOCATED },
		{ t, 5, 2, EVENT_MAPPED },
		{ t, 5, 2, EVENT_UNMAPPED },
		{ t, 5, 3, EVENT_GROWN },
		{ t, 5, 3, EVENT_SHRUNK },
		{ t, 5, 3, EVENT_UNMAPPED },
		{ t, UINT64_MAX, 1, EVENT_GROWN },
		{ t, 1, 1, (enum event_kind)(EVENT_SHRUNK + 1) },
	};
	const size_t nr = sizeof possible / sizeof *possible;
	struct err e;

	ok(log_writer_add(w, possible, nr, &e) == 0, "mappings are written");
	is_u64(log_writer_sum(w).nr_events, nr, "all of them");
	ok(log_writer_add(w, impossible, sizeof impossible / sizeof *impossible, &e) == 0,
		"those that cannot be are no error");
	is_u64(log_writer_sum(w).nr_events, nr, "they are not written");
	is_u64(log_writer_sum(w).nr_unmatched, sizeof impossible / sizeof *impossible,
		"but counted");
	log_writer_close(w, &e);
	list_files();
	remove_all();
}

/* Flushed events are in the file, whatever happens then. */
static void
test_flush(void)
{
	struct log_writer *w = begin(0, 0);
	uint64_t time_ns = 5 * SECOND;
	struct decoded d;
	struct err e;

	add_events(w, 5000, &time_ns);
	log_writer_flush(w, &(struct log_moment){ .time_ns = time_ns + 3 * SECOND }, &e);
	list_files();
	read_file(&d, file_names[0]);
	decode(&d);
	ok(!d.is_bad && d.nr_events == 5000 && d.end_flag < 0 && are_equal(&d.now, &truth),
		"what was flushed can be read while the log goes on");
	is_u64(d.ticks, (time_ns + 3 * SECOND - 5 * SECOND) / 1000000, "with its time");
	free(d.text);
	log_writer_close(w, &e);
	remove_all();
}

/* The last file begins with what is live, and has all events from there on. */
static void
check_last(const char *what)
{
	struct decoded d;

	list_files();
	if (!nr_files || !read_file(&d, file_names[nr_files - 1])) {
		ok(false, "%s: there is a file", what);
		return;
	}
	decode(&d);
	ok(!d.is_bad && d.end_flag == 1 && are_equal(&d.now, &truth),
		"%s: the next file has what is live, and what follows", what);
	free(d.text);
}

/* A disk without room, for a time. */
static void
test_full(void)
{
	struct log_writer *w = begin(0, 0);
	struct rlimit all, little;
	uint64_t time_ns = 5 * SECOND;
	struct log_moment m = { .time_ns = time_ns };
	struct event v[1000];
	struct decoded d;
	struct err e;
	int failed = 0;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &all);
	add_events(w, 2000, &time_ns);
	m.time_ns = time_ns;
	log_writer_flush(w, &m, &e);
	little = (struct rlimit){ 4096, all.rlim_max };
	setrlimit(RLIMIT_FSIZE, &little);
	for (int i = 0; i < 200; i++) {
		for (int k = 0; k < 1000; k++)
			v[k] = make_event(time_ns);
		failed += log_writer_add(w, v, 1000, &e) < 0;
	}
	ok(failed == 1 && strstr(e.msg, dir) && strstr(e.msg, "File too large"),
		"a disk that is full is said once: %s", e.msg);
	ok(log_writer_sum(w).nr_lost > 0 && !log_writer_sum(w).file, "what is lost is counted");
	little.rlim_cur = 16;
	setrlimit(RLIMIT_FSIZE, &little);
	ok(log_writer_flush(w, &m, &e) < 0 && log_writer_flush(w, &m, &e) < 0,
		"no other file can be begun: %s", e.msg);
	list_files();
	ok(nr_files == 1, "nothing is left of it");
	setrlimit(RLIMIT_FSIZE, &all);
	ok(log_writer_flush(w, &m, &e) < 0, "it is not tried at once");
	m.time_ns += 5 * SECOND;
	ok(log_writer_flush(w, &m, &e) == 0 && log_writer_sum(w).file,
		"when there is room again, it can");
	add_events(w, 2000, &time_ns);
	log_writer_close(w, &e);
	check_last("after a full disk");
	read_file(&d, file_names[0]);
	decode(&d);
	ok(!d.is_bad && d.end_flag < 0 && d.nr_events >= 2000,
		"the file that could not be written is whole up to there");
	ok(strcmp(file_names[1], file_names[0]) != 0 && !strstr(file_names[1], ".000002."),
		"the number of the next one shows the gap");
	free(d.text);
	remove_all();
}

/* A disk that stays full for an hour, and has room for a little now and then. */
static void
test_full_long(void)
{
	struct log_writer *w = begin(16384, 3);
	struct rlimit all, none, little;
	uint64_t time_ns = 5 * SECOND;
	struct log_moment m = { 0 };
	char first[512], last[512];
	uint32_t nr_begun;
	struct err e;

	getrlimit(RLIMIT_FSIZE, &all);
	none = (struct rlimit){ 16, all.rlim_max };
	little = (struct rlimit){ 8192, all.rlim_max };
	add_events(w, 100000, &time_ns);
	m.time_ns = time_ns;
	log_writer_flush(w, &m, &e);
	list_files();
	is_u64((uint64_t)nr_files, 3, "as many files as there may be");
	snprintf(first, sizeof first, "%s", file_names[0]);
	snprintf(last, sizeof last, "%s", file_names[2]);
	nr_begun = log_writer_sum(w).nr_files;
	for (int i = 0; i < 3600 * 20; i++) {
		setrlimit(RLIMIT_FSIZE, i % 5000 > 3000 ? &little : &none);
		m.time_ns += SECOND / 20;
		log_writer_flush(w, &m, &e);
	}
	setrlimit(RLIMIT_FSIZE, &all);
	list_files();
	ok(nr_files == 3 && strcmp(file_names[0], first) == 0 && strcmp(file_names[2], last) == 0,
		"a full disk costs none of them");
	is_u64(log_writer_sum(w).nr_files, nr_begun, "no other one was begun");
	m.time_ns += 65 * SECOND;
	ok(log_writer_flush(w, &m, &e) == 0, "it is tried again within 65 s");
	time_ns = m.time_ns;
	add_events(w, 2000, &time_ns);
	log_writer_close(w, &e);
	check_last("after an hour");
	ok(nr_files == 3 && strcmp(file_names[0], first) != 0, "then the oldest one goes");
	remove_all();
}

/* A directory that is removed, or is none. */
static void
test_removed(void)
{
	struct log_writer *w = begin(0, 0);
	uint64_t time_ns = 5 * SECOND;
	struct log_moment m = { .time_ns = time_ns };
	struct event v = { time_ns, 1, 1, EVENT_ALLOCATED };
	const struct log_settings s = { "/dev/null/log", "it", 42, 0, REALTIME, 0, 0 };
	struct log_writer *none = NULL;
	struct err e;

	log_writer_add(w, &v, 1, &e);
	truth.blocks[1]++;
	truth.bytes[1]++;
	remove_all();
	rmdir(dir);
	ok(log_writer_flush(w, &m, &e) < 0 && strstr(e.msg, "it was removed"),
		"a directory that was removed is said: %s", e.msg);
	m.time_ns += 2 * SECOND;
	ok(log_writer_flush(w, &m, &e) == 0, "it is made again");
	log_writer_close(w, &e);
	check_last("after a removed directory");
	remove_all();
	ok(log_writer_open(&none, &s, &names, &e) < 0 && !none && strstr(e.msg, "/dev/null/log"),
		"where no directory can be is said: %s", e.msg);
}

int
main(int argc, char **argv)
{
	seed = argc > 1 ? (unsigned int)atoi(argv[1]) : 1;
	if (!mkdtemp(dir))
		return 99;
	test_all();
	test_limit();
	test_unmatched();
	test_unmatched_mappings();
	test_flush();
	test_full();
	test_full_long();
	test_removed();
	rmdir(dir);
	list_files();
	return tap_end();
}
