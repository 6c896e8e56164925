/*
 * Records of events in buffers that the test writes as the kernel does: random ones, by seeds, come
 * out as they went in, in the order of time; and damaged ones do no damage.
 *
 *	os-perf-ring [FIRST-SEED [NUMBER]]
 */
#include <config.h>

#include <linux/perf_event.h>

#include "os/perf-open.h"
#include "os/perf.h"
#include "tap.h"

#define RINGS_MAX 4
#define SOURCES_MAX 5
#define RECORDS_MAX 3000
#define RING_MAX (256 * 1024)
#define JUNK 0xa5
/* Before the parts that not all samples have. */
#define SAMPLE_HEAD_BYTES 56

static uint64_t state;

static uint64_t
some(uint64_t below)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (state >> 33) % below;
}

/* ---- the kernel's side ---- */

/* A record as it must come out. */
struct expected {
	struct perf_record rec; /* its pointers lead into CONTENT */
	bool is_wanted;		/* false: of a kind that is skipped */
	size_t ring;
	uint64_t start, end; /* positions in the ring */
	bool is_given;
	char *content; /* the record as written */
};

struct fake_ring {
	char *data;
	uint64_t bytes;
	uint64_t written; /* the kernel's own head, which is published later */
	__u64 head, tail;
	uint64_t cleaned; /* up to here it was overwritten after its release */
	uint64_t nr_unannounced;
	uint64_t id[SOURCES_MAX];
};

static struct world {
	struct fake_ring ring[RINGS_MAX];
	struct perf_ring real[RINGS_MAX];
	struct perf_rings all;
	uint64_t sample_type[SOURCES_MAX];
	size_t nr_rings, nr_sources, nr_regs;
	struct expected expected[RECORDS_MAX];
	size_t nr_expected;
	uint64_t now_ns, limit_ns, nr_lost, nr_announced, nr_samples;
	/* Another program watches the same events: limits are then as perf_wait() has them. */
	bool has_other;
	uint64_t updated_ns;
} w;

static char why[256];

#define FAIL(...) (snprintf(why, sizeof why, __VA_ARGS__), false)

struct writer {
	char v[PERF_RING_RECORD_MAX];
	size_t bytes;
};

static struct writer out;

static void *
put(const void *from, size_t bytes)
{
	char *at = out.v + out.bytes;

	memcpy(at, from, bytes);
	out.bytes += bytes;
	return at;
}

static void
put_u64(uint64_t v)
{
	put(&v, sizeof v);
}

static void
put_u32(uint32_t v)
{
	put(&v, sizeof v);
}

static const char *
put_random(size_t bytes)
{
	char *at = out.v + out.bytes;

	for (size_t i = 0; i < bytes; i++)
		at[i] = (char)some(256);
	out.bytes += bytes;
	return at;
}

/* A name with its end in BYTES. */
static const char *
put_name(size_t bytes)
{
	char *at = out.v + out.bytes;

	put_random(bytes);
	at[some(bytes)] = '\0';
	return at;
}

static void
begin(uint32_t type, uint16_t misc)
{
	const struct perf_event_header h = { .type = type, .misc = misc };

	out.bytes = 0;
	put(&h, sizeof h);
}

static void
finish(void)
{
	const uint16_t bytes = (uint16_t)out.bytes;

	memcpy(out.v + offsetof(struct perf_event_header, size), &bytes, sizeof bytes);
}

/* The end of all records but samples. */
static void
put_sample_id(const struct perf_record *rec, uint64_t id)
{
	put_u32((uint32_t)rec->pid);
	put_u32((uint32_t)rec->tid);
	put_u64(rec->time_ns);
	put_u64(id);
	finish();
}

static void
put_stack(struct perf_record *rec, size_t bytes)
{
	const uint64_t copied = bytes ? some(bytes / 8 + 1) * 8 : 0;

	if (some(8) == 0) { /* of a kernel thread */
		put_u64(PERF_SAMPLE_REGS_ABI_NONE);
		put_u64(0);
		return;
	}
	put_u64(PERF_SAMPLE_REGS_ABI_64);
	rec->regs = (const void *)put_random(w.nr_regs * 8);
	put_u64(bytes);
	if (!bytes)
		return;
	rec->stack = put_random(bytes);
	rec->stack_bytes = copied;
	put_u64(copied);
}

/* A sample whose raw part and stack take up to MAX bytes. */
static bool
put_sample(struct perf_record *rec, size_t ring, size_t max)
{
	const bool is_known = some(10) != 0, is_of_other = w.has_other && some(2);
	uint64_t type, id;

	rec->type = PERF_EVENT;
	rec->source = some(w.nr_sources);
	type = w.sample_type[rec->source];
	id = is_known ? w.ring[ring].id[rec->source] : 999999;
	begin(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	put_u64(is_of_other ? some(1000000) : id);
	put_u32((uint32_t)rec->pid);
	put_u32((uint32_t)rec->tid);
	put_u64(rec->time_ns);
	memcpy(&rec->address.v, put_random(8), 8);
	put_u64(some(1000));
	put_u64(id);
	if (w.all.counts_lost)
		put_u64(some(1000));
	if (type & PERF_SAMPLE_RAW) {
		const size_t bytes = some(max / 16 + 1) * 8 + 4;

		put_u32((uint32_t)bytes);
		rec->raw = put_random(bytes);
		rec->raw_bytes = bytes;
		max -= bytes + 4 < max ? bytes + 4 : max;
	}
	if (type & PERF_SAMPLE_STACK_USER)
		put_stack(rec, some(max / 8 + 1) * 8);
	finish();
	return is_known;
}

static void
put_mapped(struct perf_record *rec, uint64_t id)
{
	rec->type = PERF_MAPPED;
	rec->start.v = some(1 << 30) << 12;
	rec->end.v = rec->start.v + (some(1000) << 12);
	rec->has_file = some(2);
	rec->is_executable = some(2);
	begin(PERF_RECORD_MMAP2,
		PERF_RECORD_MISC_USER | (rec->is_executable ? 0 : PERF_RECORD_MISC_MMAP_DATA));
	put_u32((uint32_t)rec->pid);
	put_u32((uint32_t)rec->tid);
	put_u64(rec->start.v);
	put_u64(rec->end.v - rec->start.v);
	put_u64(some(100) << 12);
	put_u32(0);
	put_u32(rec->has_file ? 5 : 0);
	put_u64(rec->has_file ? 1 + some(1000) : 0);
	put_u64(some(1000));
	put_u64(0); /* prot, flags */
	rec->name = put_name(8 * (1 + some(20)));
	put_sample_id(rec, id);
}

static void
put_task(struct perf_record *rec, uint64_t id, bool is_fork)
{
	rec->type = is_fork ? PERF_FORKED : PERF_ENDED;
	rec->parent = (pid_t)some(1000);
	begin(is_fork ? PERF_RECORD_FORK : PERF_RECORD_EXIT, 0);
	put_u32((uint32_t)rec->pid);
	put_u32((uint32_t)rec->parent);
	put_u32((uint32_t)rec->tid);
	put_u32((uint32_t)some(1000));
	put_u64(rec->time_ns - some(5));
	put_sample_id(rec, id);
}

static bool
put_comm(struct perf_record *rec, uint64_t id)
{
	const bool is_exec = some(2);

	rec->type = PERF_EXECUTED;
	begin(PERF_RECORD_COMM, is_exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
	put_u32((uint32_t)rec->pid);
	put_u32((uint32_t)rec->tid);
	put_random(16);
	put_sample_id(rec, id);
	return is_exec;
}

static bool
put_unknown(const struct perf_record *rec, uint64_t id)
{
	static const uint32_t types[] = { PERF_RECORD_MMAP, PERF_RECORD_THROTTLE,
		PERF_RECORD_UNTHROTTLE, PERF_RECORD_READ, PERF_RECORD_LOST_SAMPLES,
		PERF_RECORD_SWITCH, 77, UINT32_MAX };

	begin(types[some(sizeof types / sizeof *types)], 0);
	put_random(8 * some(10));
	put_sample_id(rec, id);
	if (some(4) == 0) { /* not even with the numbers */
		out.bytes = sizeof(struct perf_event_header);
		finish();
	}
	return false;
}

/* Write one record of a random kind for RING; false: one that is skipped. */
static bool
put_any(struct perf_record *rec, size_t ring, size_t max)
{
	const uint64_t id = w.ring[ring].id[0] - 1; /* of the buffer's event */

	switch (some(10)) {
	case 0:
		put_mapped(rec, id);
		return true;
	case 1:
		put_task(rec, id, some(2));
		return true;
	case 2:
		return put_comm(rec, id);
	case 3:
		return put_unknown(rec, id);
	default:
		return put_sample(rec, ring, max);
	}
}

/* Let what was written be in the ring, and be expected. */
static void
store(struct fake_ring *r, struct perf_record *rec, bool is_wanted)
{
	struct expected *x = &w.expected[w.nr_expected++];
	char *content = malloc(out.bytes);

	memcpy(content, out.v, out.bytes);
	if (rec->raw)
		rec->raw = content + ((const char *)rec->raw - out.v);
	if (rec->regs)
		rec->regs = (const void *)(content + ((const char *)rec->regs - out.v));
	if (rec->stack)
		rec->stack = content + (rec->stack - out.v);
	if (rec->name)
		rec->name = content + (rec->name - out.v);
	*x = (struct expected){
		.rec = *rec,
		.is_wanted = is_wanted,
		.ring = (size_t)(r - w.ring),
		.start = r->written,
		.end = r->written + out.bytes,
		.content = content,
	};
	for (size_t i = 0; i < out.bytes; i++)
		r->data[(r->written + i) % r->bytes] = content[i];
	r->written += out.bytes;
}

static size_t
space(const struct fake_ring *r)
{
	return (size_t)(r->bytes - (r->written - r->tail));
}

/* A record of ring I, or a loss if there is no room. */
static void
make_record(size_t i)
{
	static struct writer kept;
	struct fake_ring *r = &w.ring[i];
	struct perf_record rec = { .pid = (pid_t)some(4), .tid = (pid_t)some(9) + 1 };
	const size_t max = some(6) == 0 ? PERF_RING_RECORD_MAX - 512 : some(4) == 0 ? 4096 : 64;
	const size_t lost_bytes = r->nr_unannounced ? 48 : 0;
	bool is_wanted;

	rec.time_ns = w.now_ns += 1 + some(100);
	is_wanted = put_any(&rec, i, max);
	if (out.bytes + lost_bytes > space(r)) {
		r->nr_unannounced++;
		w.nr_lost++;
		return;
	}
	if (lost_bytes) {
		struct perf_record lost = rec;

		kept = out;
		lost = (struct perf_record){ .type = PERF_LOST,
			.pid = rec.pid,
			.tid = rec.tid,
			.time_ns = rec.time_ns,
			.nr_lost = r->nr_unannounced };
		begin(PERF_RECORD_LOST, 0);
		put_u64(w.ring[i].id[0]);
		put_u64(lost.nr_lost);
		put_sample_id(&lost, w.ring[i].id[0]);
		store(r, &lost, true);
		out = kept;
		r->nr_unannounced = 0;
	}
	store(r, &rec, is_wanted);
}

/* ---- what comes out ---- */

/* The next that must be given: the oldest of what is published and before the limit. */
static struct expected *
next_expected(void)
{
	struct expected *found = NULL;

	for (size_t i = 0; i < w.nr_expected; i++) {
		struct expected *x = &w.expected[i];

		if (x->is_wanted && !x->is_given && x->end <= w.real[x->ring].end &&
			x->rec.time_ns < w.limit_ns &&
			(!found || x->rec.time_ns < found->rec.time_ns))
			found = x;
	}
	return found;
}

static bool
is_same_bytes(const void *a, const void *b, size_t bytes)
{
	return (!a && !b) || (a && b && memcmp(a, b, bytes) == 0);
}

static bool
is_same(const struct perf_record *got, const struct perf_record *want)
{
	if (got->type != want->type || got->time_ns != want->time_ns + w.all.ahead_ns)
		return false;
	if (got->type == PERF_LOST)
		return got->nr_lost == want->nr_lost;
	if (got->pid != want->pid || got->tid != want->tid)
		return false;
	switch (got->type) {
	case PERF_EVENT:
		return got->source == want->source && got->address.v == want->address.v &&
			got->raw_bytes == want->raw_bytes &&
			is_same_bytes(got->raw, want->raw, got->raw_bytes) &&
			is_same_bytes(got->regs, want->regs, w.nr_regs * 8) &&
			(uintptr_t)got->regs % 8 == 0 && got->stack_bytes == want->stack_bytes &&
			is_same_bytes(got->stack, want->stack, got->stack_bytes);
	case PERF_MAPPED:
		return got->start.v == want->start.v && got->end.v == want->end.v &&
			got->has_file == want->has_file &&
			got->is_executable == want->is_executable &&
			strcmp(got->name, want->name) == 0;
	case PERF_FORKED:
		return got->parent == want->parent;
	default:
		return true;
	}
}

/* Write over all that was released, as the kernel may. */
static bool
clean(struct fake_ring *r)
{
	if (r->tail > r->head)
		return false;
	for (; r->cleaned < r->tail; r->cleaned++)
		r->data[r->cleaned % r->bytes] = (char)JUNK;
	return true;
}

/* Take one record, and compare it with the expected one after the kernel wrote what it may. */
static bool
take_one(bool *ret_is_end)
{
	struct expected *x = next_expected();
	struct perf_record got;
	const bool is_some = perf_rings_next(&w.all, &got);

	for (size_t i = 0; i < w.nr_rings; i++)
		if (!clean(&w.ring[i]))
			return FAIL("a tail is beyond its head");
	*ret_is_end = !is_some;
	if (!x && !is_some)
		return true;
	if (!x || !is_some)
		return FAIL("%s", x ? "a record is missing" : "a record too many");
	x->is_given = true;
	w.nr_samples += x->rec.type == PERF_EVENT;
	if (x->rec.type == PERF_LOST)
		w.nr_announced += x->rec.nr_lost;
	if (w.ring[x->ring].tail > x->start)
		return FAIL("a record is released while it is given");
	if (!is_same(&got, &x->rec))
		return FAIL("a record of type %d at %llu is another one: type %d, time %llu for "
			    "%llu",
			x->rec.type, (unsigned long long)x->start, got.type,
			(unsigned long long)got.time_ns, (unsigned long long)x->rec.time_ns);
	return true;
}

/* When no record is given all those that were are released. */
static bool
is_all_released(void)
{
	for (size_t i = 0; i < w.nr_expected; i++) {
		const struct expected *x = &w.expected[i];

		if (x->is_given && w.ring[x->ring].tail < x->end)
			return FAIL("a record that was given is not released");
	}
	return true;
}

static bool
take_some(uint64_t nr)
{
	for (bool is_end = false; nr && !is_end; nr--) {
		if (!take_one(&is_end))
			return false;
		if (is_end && !is_all_released())
			return false;
	}
	return true;
}

/* Publish what was written, of some rings. */
static void
publish(bool all)
{
	for (size_t i = 0; i < w.nr_rings; i++)
		if (all || some(3))
			w.ring[i].head = w.ring[i].written;
}

static void
update(uint64_t limit_ns)
{
	w.limit_ns = limit_ns;
	perf_rings_update(&w.all, limit_ns == UINT64_MAX ? limit_ns : limit_ns + w.all.ahead_ns);
}

static void
begin_world(uint64_t bytes_max)
{
	static char data[RINGS_MAX][RING_MAX] __attribute__((aligned(8)));

	memset(&w, 0, sizeof w);
	w.now_ns = some(1 << 30) + 1000;
	w.nr_rings = 1 + some(RINGS_MAX);
	w.nr_sources = 1 + some(SOURCES_MAX);
	w.nr_regs = some(30);
	for (size_t i = 0; i < w.nr_sources; i++)
		w.sample_type[i] = PERF_RING_SAMPLE_TYPE | (some(2) ? PERF_SAMPLE_RAW : 0) |
			(some(2) ? PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER : 0);
	for (size_t i = 0; i < w.nr_rings; i++) {
		struct fake_ring *r = &w.ring[i];
		const uint64_t start = some(1 << 20) * 8;

		r->data = data[i];
		for (r->bytes = 4096; r->bytes < bytes_max && some(4); r->bytes *= 2)
			;
		memset(r->data, JUNK, r->bytes);
		r->written = r->head = r->tail = r->cleaned = start;
		for (size_t k = 0; k < w.nr_sources; k++)
			r->id[k] = 100 * (i + 1) + k;
		w.real[i] = (struct perf_ring){ .data = r->data,
			.data_bytes = r->bytes,
			.head = &r->head,
			.tail = &r->tail,
			.id = r->id,
			.at = start,
			.end = start };
	}
	w.all.ring = w.real;
	w.all.nr = w.nr_rings;
	w.all.sample_type = w.sample_type;
	w.all.nr_sources = w.nr_sources;
	w.all.nr_regs = w.nr_regs;
	w.all.counts_lost = some(2);
	w.has_other = some(2);
	w.all.ahead_ns = some(2) ? 0 : some(1 << 20) - (1 << 19);
}

static void
end_world(void)
{
	for (size_t i = 0; i < w.nr_expected; i++)
		free(w.expected[i].content);
}

/* All is as expected when the last records are taken. */
static bool
try_end(void)
{
	uint64_t nr_unannounced = 0;

	publish(true);
	update(UINT64_MAX);
	if (!take_some(UINT64_MAX))
		return false;
	if (perf_rings_has_more(&w.all))
		return FAIL("there are more");
	for (size_t i = 0; i < w.nr_rings; i++)
		nr_unannounced += w.ring[i].nr_unannounced;
	if (w.all.nr_lost != w.nr_announced || w.nr_announced + nr_unannounced != w.nr_lost)
		return FAIL("%llu are lost, and %llu are counted", (unsigned long long)w.nr_lost,
			(unsigned long long)w.all.nr_lost);
	if (w.all.nr_samples != w.nr_samples)
		return FAIL("%llu samples are counted", (unsigned long long)w.all.nr_samples);
	return w.all.nr_damaged == 0 || FAIL("a ring seems damaged");
}

static bool
try_seed(void)
{
	begin_world(RING_MAX);
	for (int round = 0; round < 60 && w.nr_expected < RECORDS_MAX - 100; round++) {
		const uint64_t busy = some(w.nr_rings);

		for (uint64_t nr = some(40); nr; nr--)
			make_record(some(3) ? busy : some(w.nr_rings));
		publish(false);
		update(w.has_other && w.updated_ns > w.now_ns - 1000 ? w.updated_ns + 1
								     : w.now_ns - some(1000));
		w.updated_ns = w.now_ns;
		if (!take_some(some(2) ? UINT64_MAX : some(20)))
			return false;
	}
	return try_end();
}

static void
test_random(unsigned long first, unsigned long nr)
{
	unsigned long nr_failed = 0;
	uint64_t nr_records = 0, nr_lost = 0;

	for (unsigned long seed = first; seed < first + nr; seed++) {
		state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
		if (!try_seed()) {
			printf("# seed %lu: %s\n", seed, why);
			nr_failed++;
		}
		nr_records += w.nr_expected;
		nr_lost += w.nr_lost;
		end_world();
	}
	printf("# %lu seeds, %llu records, %llu lost\n", nr, (unsigned long long)nr_records,
		(unsigned long long)nr_lost);
	is_u64(nr_failed, 0, "random records come out as they went in, in the order of time");
}

/* ---- by hand ---- */

/* One ring and one source of each kind. */
static struct fake_ring *
begin_one(uint64_t start)
{
	struct fake_ring *r = &w.ring[0];

	begin_world(4096);
	w.nr_rings = w.all.nr = 1;
	w.nr_sources = w.all.nr_sources = 1;
	w.nr_regs = w.all.nr_regs = 3;
	w.all.ahead_ns = 0;
	w.has_other = w.all.counts_lost = false;
	w.sample_type[0] = PERF_RING_SAMPLE_TYPE | PERF_SAMPLE_RAW | PERF_SAMPLE_REGS_USER |
		PERF_SAMPLE_STACK_USER;
	r->written = r->head = r->tail = r->cleaned = w.real[0].at = w.real[0].end = start;
	return r;
}

static struct perf_record
hand_sample(void)
{
	struct perf_record rec = { .pid = 1, .tid = 2, .time_ns = ++w.now_ns };

	while (!put_sample(&rec, 0, 600))
		rec = (struct perf_record){ .pid = 1, .tid = 2, .time_ns = ++w.now_ns };
	return rec;
}

/* The ring's end at each place of a record, also where positions overflow. */
static void
test_wraps(void)
{
	static const uint64_t bases[] = { 0, 4096, -(uint64_t)4096 };
	int nr_wrong = 0;

	state = 1;
	for (size_t base = 0; base < 3; base++)
		for (uint64_t offset = 0; offset < 4096; offset += 8) {
			struct fake_ring *r = begin_one(bases[base] + offset);
			struct perf_record got = { 0 }, want = hand_sample();

			store(r, &want, true);
			r->head = r->written;
			update(UINT64_MAX);
			nr_wrong += !perf_rings_next(&w.all, &got) ||
				!is_same(&got, &w.expected[0].rec) ||
				perf_rings_next(&w.all, &got) || r->tail != r->head;
			end_world();
		}
	is_u64((uint64_t)nr_wrong, 0, "a record that goes on at the ring's start, at any place");
}

static void
test_kept(void)
{
	struct fake_ring *r = begin_one(0);
	struct perf_record rec = hand_sample(), got;
	const uint64_t time_ns = rec.time_ns;

	store(r, &rec, true);
	update(UINT64_MAX);
	ok(!perf_rings_next(&w.all, &got) && !perf_rings_has_more(&w.all),
		"a record that is not published is not there");
	r->head = r->written;
	ok(!perf_rings_next(&w.all, &got), "nor before the next update");
	update(time_ns);
	ok(perf_rings_has_more(&w.all), "it is there after that");
	ok(!perf_rings_next(&w.all, &got) && perf_rings_has_more(&w.all),
		"a record of the limit's time is kept");
	update(time_ns + 1);
	ok(perf_rings_next(&w.all, &got) && got.time_ns == time_ns, "an older one is given");
	ok(!perf_rings_next(&w.all, &got) && !perf_rings_has_more(&w.all), "once");
	end_world();
}

/* ---- another program's clock ---- */

static struct perf_record
sample_of_other(uint64_t time_ns, pid_t tid)
{
	struct perf_record rec = { .pid = tid, .tid = tid, .time_ns = time_ns };

	w.has_other = true;
	do
		put_sample(&rec, 0, 600);
	while (memcmp(out.v + 8, &w.ring[0].id[0], 8) == 0 ||
		memcmp(out.v + 48, &w.ring[0].id[0], 8) != 0);
	w.has_other = false;
	return rec;
}

static uint64_t
next_time(void)
{
	struct perf_record got;

	return perf_rings_next(&w.all, &got) ? got.time_ns : 0;
}

static void
test_other_clock(void)
{
	const uint64_t second = 1000000000;
	struct fake_ring *r = begin_one(0);
	struct perf_record first = hand_sample(), rec;

	store(r, &first, true);
	rec = sample_of_other(first.time_ns - 10, 3);
	store(r, &rec, true);
	rec = sample_of_other(first.time_ns + second, 3);
	store(r, &rec, true);
	r->head = r->written;
	update(first.time_ns + 100);
	is_u64(next_time(), first.time_ns, "a sample of our clock");
	is_u64(next_time(), first.time_ns, "one of a clock behind ours follows it");
	is_u64(next_time(), 0, "one of a clock ahead of ours is kept");
	update(first.time_ns + 200);
	is_u64(next_time(), first.time_ns + 199, "until the next update");
	is_u64(next_time(), 0, "all are given");
	rec = sample_of_other(first.time_ns + second, 0);
	store(r, &rec, true);
	r->head = r->written;
	update(UINT64_MAX);
	is_u64(next_time(), 0, "of a process that the other program cannot see it is useless");
	is_u64(w.all.nr_samples, 3, "and does not count as given");
	end_world();
}

/*
 * A good record; then one that is good but for its size, which is said to be SAID (-1: 4 bytes more
 * than it is), with THERE bytes of it published (0: all); then another good one.
 */
static bool
survives(int said_bytes, size_t there)
{
	uint16_t said;
	struct fake_ring *r = begin_one(some(512) * 8);
	struct perf_record good = hand_sample(), got;
	bool result;

	store(r, &good, true);
	good = hand_sample();
	said = (uint16_t)(said_bytes < 0 ? (int)out.bytes + 4 : said_bytes);
	memcpy(out.v + offsetof(struct perf_event_header, size), &said, sizeof said);
	out.bytes += 8; /* of what was there before */
	there = there ? there : out.bytes;
	store(r, &good, false);
	r->head = r->written - out.bytes + there;
	update(UINT64_MAX);
	result = perf_rings_next(&w.all, &got) && is_same(&got, &w.expected[0].rec) &&
		!perf_rings_next(&w.all, &got) && r->tail == r->head && w.all.nr_damaged == 1;
	r->written = r->head += 16 - r->head % 8;
	r->tail = w.real[0].at = w.real[0].end = r->head;
	good = hand_sample();
	store(r, &good, true);
	r->head = r->written;
	update(UINT64_MAX);
	result &= perf_rings_next(&w.all, &got) && got.time_ns == good.time_ns;
	end_world();
	return result;
}

static void
test_damaged_sizes(void)
{
	state = 1;
	w.nr_regs = 3;
	ok(survives(0, 0), "a size of 0 ends what is published");
	ok(survives(4, 0), "so does one less than a header's");
	ok(survives(-1, 0), "so does one that is no multiple of 8");
	ok(survives(2048, 0), "so does one beyond the head");
	ok(survives(65528, 0), "so does one beyond the ring");
	ok(survives(64, 4), "so does half a header");
}

/* Records of kinds that are decoded, too short for the numbers that all of them have. */
static void
test_short(void)
{
	static const uint32_t types[] = { PERF_RECORD_SAMPLE, PERF_RECORD_LOST, PERF_RECORD_MMAP2,
		PERF_RECORD_COMM, PERF_RECORD_FORK, PERF_RECORD_EXIT };
	int nr_wrong = 0;

	for (size_t i = 0; i < 4 * sizeof types / sizeof *types; i++) {
		struct fake_ring *r = begin_one(0);
		struct perf_record rec = { 0 }, got;

		begin(types[i / 4], PERF_RECORD_MISC_COMM_EXEC);
		put_random(i % 4 * 8); /* the last has them, and nothing else */
		finish();
		store(r, &rec, false);
		rec = hand_sample();
		store(r, &rec, true);
		r->head = r->written;
		update(UINT64_MAX);
		while (perf_rings_next(&w.all, &got) && got.time_ns != rec.time_ns)
			nr_wrong += got.type != PERF_EXECUTED;
		nr_wrong += got.time_ns != rec.time_ns || w.all.nr_damaged;
		end_world();
	}
	is_u64((uint64_t)nr_wrong, 0, "records that are too short are skipped");
}

static void
test_damaged_head(void)
{
	struct fake_ring *r = begin_one(0);
	struct perf_record rec = hand_sample(), got;

	store(r, &rec, true);
	r->head = r->bytes + 8;
	update(UINT64_MAX);
	ok(!perf_rings_next(&w.all, &got) && w.all.nr_damaged == 1,
		"a head beyond all that there is room for");
	end_world();
}

/* Numbers inside of a sample that lead out of it. */
static void
test_damaged_samples(void)
{
	int nr_given = 0, nr_outside = 0;

	state = 1;
	for (int i = 0; i < 4000; i++) {
		struct fake_ring *r = begin_one(some(512) * 8);
		struct perf_record rec = hand_sample(), got;
		const uint64_t wrong = some(2) ? UINT64_MAX - some(16) : some(70000);

		if (some(4))
			memcpy(out.v + 24 + some((out.bytes - 24) / 4 - 1) * 4, &wrong,
				some(2) ? 4 : sizeof wrong);
		else /* the size of the raw part, a little */
			out.v[SAMPLE_HEAD_BYTES] ^= (char)(1 + some(31));
		store(r, &rec, true);
		r->head = r->written;
		update(UINT64_MAX);
		while (perf_rings_next(&w.all, &got)) {
			nr_given++;
			nr_outside += got.raw_bytes > out.bytes || got.stack_bytes > out.bytes ||
				(uintptr_t)got.regs % 8;
		}
		end_world();
	}
	printf("# %d given\n", nr_given);
	ok(nr_given > 0 && nr_outside == 0, "nothing of a damaged sample lies outside of it");
}

/* Rings of chance: that it ends is proof enough. */
static void
test_noise(void)
{
	uint64_t nr = 0;

	state = 1;
	limit_cpu(100);
	for (int i = 0; i < 2000; i++) {
		struct fake_ring *r = begin_one(some(512) * 8);
		struct perf_record got;

		for (size_t k = 0; k < r->bytes; k += 8) {
			const uint64_t bits =
				some(3) ? some(20) | some(20) * 8 << 48 : some(1 << 30);

			memcpy(r->data + k, &bits, sizeof bits);
		}
		r->head += r->bytes;
		update(UINT64_MAX);
		while (perf_rings_next(&w.all, &got))
			nr++;
		end_world();
	}
	limit_cpu(0);
	ok(nr > 0, "reading of noise ends");
}

static void
test_cpus(void)
{
	static const struct {
		const char *list, *want;
	} cases[] = { { "0\n", "0 " }, { "0-3,6\n", "0 1 2 3 6 " }, { "1,3-4,8-9", "1 3 4 8 9 " },
		{ "", "" }, { "2-1", "" }, { "0,x", "0 " }, { "0-99999999999\n", "" } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct perf_cpus cpus = { 0 };
		char got[64] = "";

		perf_cpus_parse(&cpus, cases[i].list);
		for (size_t k = 0; k < cpus.nr; k++)
			snprintf(got + strlen(got), sizeof got - strlen(got), "%d ", cpus.v[k]);
		is_str(got, cases[i].want, "a list of processors");
		free(cpus.v);
	}
}

int
main(int argc, char **argv)
{
	const unsigned long first = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
	const unsigned long nr =
		argc > 2 ? strtoul(argv[2], NULL, 0) : (unsigned long)tap_share(200);

	test_random(first, nr);
	test_wraps();
	test_kept();
	test_other_clock();
	test_damaged_sizes();
	test_short();
	test_damaged_head();
	test_damaged_samples();
	test_noise();
	test_cpus();
	return tap_end();
}
