/*
 * The events of a log as threads append them by the rules of wire/log.h: each one comes out of the
 * drain once, those of a thread in their order, and all in the order in which they happened; what
 * is dropped is counted.  So it is when the process is killed at any moment.  Then the blocks are
 * damaged, and whatever is in them, a round ends, and only what an event can be comes out.
 *
 *	log-drain [FIRST-SEED [SEEDS]]
 */
#include <config.h>

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/clock.h"
#include "tap.h"

#include "os/os.h"
#include "os/target.h"
#include "recording/log-drain.h"
#include "wire/wire.h"

#define NR_BLOCKS 48
#define NR_PLACES 6
#define MAX_SITES 64
#define LOG_AT WIRE_SITES_HEADER_BYTES
#define SIZE_BYTES (LOG_AT + WIRE_LOG_HEADER_BYTES + NR_BLOCKS * sizeof(struct wire_log_block))
#define MAX_WORDS (sizeof((struct wire_log_block *)0)->word / 8)

static unsigned int seed;
static int fd = -1;
static char *image;
static struct wire_log *l;
static struct wire_sites head = {
	.log_at = LOG_AT, .size_bytes = SIZE_BYTES, .max_sites = MAX_SITES
};

static uint32_t
some(uint32_t below)
{
	return (uint32_t)rand_r(&seed) % below;
}

static void
make_image(void)
{
	if (fd >= 0) {
		close(fd);
		munmap(image, SIZE_BYTES);
	}
	fd = memfd_create("log", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, SIZE_BYTES) < 0)
		exit(99);
	image = mmap(NULL, SIZE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (image == MAP_FAILED)
		exit(99);
	l = (struct wire_log *)(image + LOG_AT);
	l->magic = WIRE_LOG_MAGIC;
	l->nr_blocks = l->nr_touched = NR_BLOCKS;
	l->is_open = l->nr_openings = 1;
}

static struct log_drain *
new_drain(void)
{
	const struct log_source s = { .fd = fd };
	struct log_drain *d;
	struct err e;

	if (log_drain_new(&d, &s, &head, true, &e) == 0)
		return d;
	printf("# %s\n", e.msg);
	exit(99);
}

/* ---- the other side: threads that append ---- */

/* A moment of tests that have a clock of their own, whose counter shows the same. */
static struct log_now
at(uint64_t ns)
{
	return (struct log_now){ ns, ns };
}

/* Now by the real ones. */
static struct log_now
real_now(void)
{
	return (struct log_now){ os_coarse_ns(), wire_stamp() - (1 << 11) };
}

#define REAL_NS 0 /* for the moment at which an event is appended */

struct place {
	uint32_t owner;
	uint64_t number, time_ns, stamp;
	struct wire_log_block *block;
	uint64_t nr_appended, nr_dropped;
	unsigned int seed;
	struct seen *seen;
};

static struct wire_log_block *
take_block(struct place *p)
{
	for (uint32_t i = 0; i < NR_BLOCKS; i++) {
		struct wire_log_block *b = wire_log_block(l, i);
		uint32_t none = 0;

		if (!__atomic_compare_exchange_n(
			    &b->owner, &none, p->owner, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		b->opening = l->is_open;
		__atomic_store_n(&b->number, ++p->number, __ATOMIC_RELEASE);
		p->time_ns = 0;
		return b;
	}
	return NULL;
}

/* A moment for an event in P's block, which is told to be under way if others look. */
static struct log_now
moment_of(struct place *p, uint64_t now_ns)
{
	if (now_ns != REAL_NS)
		return at(now_ns);
	__atomic_store_n(
		&p->block->nr_words, p->block->nr_words | WIRE_LOG_IS_STAMPING, __ATOMIC_RELAXED);
	return (struct log_now){ os_coarse_ns(), wire_stamp() };
}

/* NR words that are appended at once.  False: dropped. */
static bool
append(struct place *p, uint64_t now_ns, const uint64_t *word, uint32_t nr)
{
	struct log_now now;
	uint32_t to;

	if (p->block && p->block->nr_words + nr + 2 > MAX_WORDS) {
		__atomic_store_n(&p->block->is_full, 1, __ATOMIC_RELEASE);
		p->block = NULL;
	}
	if (!p->block)
		p->block = take_block(p);
	if (!p->block) {
		p->nr_dropped++;
		__atomic_add_fetch(&l->nr_dropped, 1, __ATOMIC_RELAXED);
		return false;
	}
	to = p->block->nr_words;
	now = moment_of(p, now_ns);
	if (now.ns != p->time_ns || now.stamp - p->stamp >= WIRE_LOG_FRESH) {
		p->block->word[to++] = wire_log_time(now.ns);
		p->block->word[to++] = now.stamp;
		p->time_ns = now.ns;
		p->stamp = now.stamp;
	}
	p->block->word[to++] = word[0] | (now.stamp & WIRE_LOG_STAMP_MASK) << WIRE_LOG_STAMP_SHIFT;
	for (uint32_t i = 1; i < nr; i++)
		p->block->word[to++] = word[i];
	__atomic_store_n(&p->block->nr_words, to, __ATOMIC_RELEASE);
	return true;
}

/*
 * The bytes of event number I of a place, by which it is known again: some take two words.  Each
 * second one frees what the one before it has allocated.
 */
static uint64_t
bytes_of(uint64_t i)
{
	const uint64_t pair = i / 2;

	return pair % 13 ? pair : pair + WIRE_LOG_MANY_BYTES;
}

static enum wire_log_kind
kind_of(uint64_t i)
{
	if (i % 2 == 0)
		return WIRE_LOG_ALLOCATED;
	return i % 4 == 1 ? WIRE_LOG_FREED : WIRE_LOG_FREED_SOON;
}

static bool
append_next(struct place *p, uint64_t now_ns)
{
	const uint64_t bytes = bytes_of(p->nr_appended);
	const uint64_t word[] = { wire_log_event(kind_of(p->nr_appended), p->owner, bytes, 0),
		bytes };
	const bool is_in = append(p, now_ns, word, bytes < WIRE_LOG_MANY_BYTES ? 1 : 2);

	p->nr_appended += is_in;
	return is_in;
}

/* ---- what comes out ---- */

/* An event happened between two moments of a clock that all threads share. */
struct seen {
	uint64_t from, to;
};

#define MOST_APPENDED 300000

struct ledger {
	uint64_t next[NR_PLACES + 2]; /* of each place, its next event */
	uint64_t nr, last_ns, nr_wrong;
	bool is_any; /* only what an event can be at all */
	/* What the threads have noted of their events, and the latest that came out; NULL: none. */
	struct seen *seen[NR_PLACES + 2];
	uint64_t latest, nr_behind;
};

/* The next event of PLACE comes out: whether it had happened before one that is out already. */
static void
note_order(struct ledger *g, uint32_t place)
{
	const struct seen *s = g->seen[place] ? &g->seen[place][g->next[place]] : NULL;

	if (!s)
		return;
	g->nr_behind += s->to < g->latest;
	if (s->from > g->latest)
		g->latest = s->from;
}

static int
check_events(void *context, const struct event *v, size_t nr, struct err *e)
{
	struct ledger *g = context;

	(void)e;
	for (size_t i = 0; i < nr; i++) {
		g->nr_wrong += v[i].time_ns < g->last_ns || v[i].kind > EVENT_SHRUNK ||
			!v[i].site || v[i].site >= MAX_SITES || v[i].bytes > INT64_MAX;
		g->last_ns = v[i].time_ns;
		if (g->is_any)
			continue;
		if (v[i].site > NR_PLACES) {
			g->nr_wrong++;
			continue;
		}
		g->nr_wrong += v[i].bytes != bytes_of(g->next[v[i].site]) ||
			v[i].kind != (enum event_kind)kind_of(g->next[v[i].site]);
		note_order(g, v[i].site);
		g->next[v[i].site]++;
	}
	g->nr += nr;
	return 0;
}

static bool
round_of(struct log_drain *d, struct log_now now, bool is_last, struct ledger *g)
{
	const struct log_sink sink = { g, check_events };
	struct err e;

	if (log_drain_round(d, &now, is_last, &sink, &e) == 0)
		return true;
	printf("# %s\n", e.msg);
	return false;
}

static uint32_t
nr_taken(void)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < NR_BLOCKS; i++)
		nr += wire_log_block(l, i)->owner != 0;
	return nr;
}

/* ---- threads beside the drain ---- */

static int nr_running;
static uint64_t shared_clock;

static void *
append_many(void *arg)
{
	struct place *p = arg;
	const uint32_t nr = 200000 + (uint32_t)rand_r(&p->seed) % (MOST_APPENDED - 200000);

	for (uint32_t i = 0; i < nr; i++) {
		struct seen *s = &p->seen[p->nr_appended];

		s->from = __atomic_fetch_add(&shared_clock, 1, __ATOMIC_SEQ_CST);
		__atomic_store_n(&s->to, UINT64_MAX, __ATOMIC_RELAXED);
		append_next(p, REAL_NS);
		s->to = __atomic_fetch_add(&shared_clock, 1, __ATOMIC_SEQ_CST);
	}
	__atomic_sub_fetch(&nr_running, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void
test_threads(void)
{
	struct place place[NR_PLACES] = { { .owner = 0 } };
	struct ledger g = { .nr = 0 };
	pthread_t thread[NR_PLACES];
	struct log_drain *d;
	uint64_t nr_appended = 0, nr_dropped = 0, nr_rounds = 0;
	bool is_fine = true, is_same = true;

	make_image();
	d = new_drain();
	nr_running = NR_PLACES;
	for (uint32_t i = 0; i < NR_PLACES; i++) {
		place[i] = (struct place){ .owner = i + 1, .seed = some(1u << 30) };
		place[i].seen = g.seen[i + 1] = calloc(MOST_APPENDED + 1, sizeof(struct seen));
		if (!place[i].seen)
			exit(99);
		if (pthread_create(&thread[i], NULL, append_many, &place[i]) != 0)
			exit(99);
	}
	while (is_fine && __atomic_load_n(&nr_running, __ATOMIC_ACQUIRE)) {
		is_fine = round_of(d, real_now(), false, &g);
		nr_rounds++;
	}
	for (uint32_t i = 0; i < NR_PLACES; i++) {
		pthread_join(thread[i], NULL);
		nr_appended += place[i].nr_appended;
		nr_dropped += place[i].nr_dropped;
	}
	is_fine = is_fine && round_of(d, real_now(), true, &g);
	for (uint32_t i = 0; i < NR_PLACES; i++) {
		is_same = is_same && g.next[i + 1] == place[i].nr_appended;
		free(place[i].seen);
	}
	printf("# %" PRIu64 " rounds, %" PRIu64 " events, %" PRIu64 " dropped\n", nr_rounds, g.nr,
		nr_dropped);
	ok(is_fine && nr_appended > 100000, "threads append beside the drain");
	ok(is_same && !g.nr_wrong && g.nr == nr_appended,
		"each event comes out once, in its order");
	is_u64(log_drain_state(d).nr_dropped, nr_dropped, "those without a block are counted");
	is_u64(log_drain_state(d).nr_damaged, 0, "nothing is damaged");
	printf("# %" PRIu64 " came out behind later ones, %" PRIu64 " are counted as that\n",
		g.nr_behind, log_drain_state(d).nr_unordered);
	ok(g.nr_behind <= log_drain_state(d).nr_unordered,
		"events come out in the order in which they happened, or are counted");
	ok(nr_taken() <= NR_PLACES, "full blocks are given back");
	log_drain_free(d);
}

/* Whatever the bits were. */
static void
test_bits(void)
{
	struct place p = { .owner = 1 };
	struct ledger g = { .nr = 0 };
	struct log_drain *d;
	bool is_as_owners = true;

	make_image();
	d = new_drain();
	for (uint32_t i = 0; i < 10 * MAX_WORDS; i++)
		append_next(&p, 1000);
	is_u64(nr_taken(), 11, "eleven blocks are taken");
	wire_log_taken(l)[0] = UINT64_C(0xf0f0f0f0f0);
	ok(round_of(d, at(2000), false, &g), "a round");
	for (uint32_t i = 0; i < NR_BLOCKS; i++)
		is_as_owners = is_as_owners &&
			(wire_log_taken(l)[0] >> i & 1) == (wire_log_block(l, i)->owner != 0);
	ok(nr_taken() == 1 && is_as_owners, "after it the bits say which are taken");
	wire_log_taken(l)[0] = UINT64_MAX;
	ok(round_of(d, at(2000), false, &g) && wire_log_taken(l)[0] == UINT64_C(1) << 10,
		"also where nothing was appended");
	log_drain_free(d);
}

/* ---- the place that is alone ---- */

__typeof__(log_source_write) __real_log_source_write, __wrap_log_source_write;

/* A place that takes its turn when the first byte of what says so has been written; 0: none. */
static uint32_t turn;

/* As the kernel may do it. */
int
__wrap_log_source_write(
	const struct log_source *s, uint64_t offset, const void *from, size_t size, struct err *e)
{
	const uint64_t at = LOG_AT + offsetof(struct wire_log, alone);
	const bool is_of_turn = turn && offset < at + sizeof l->alone && at < offset + size;

	if (!is_of_turn)
		return __real_log_source_write(s, offset, from, size, e);
	for (size_t i = 0; i < size; i++) {
		if (__real_log_source_write(s, offset + i, (const char *)from + i, 1, e) < 0)
			return -1;
		if (turn)
			l->alone = turn;
		turn = 0;
	}
	return 0;
}

static bool
is_places(uint32_t alone)
{
	return alone && alone <= WIRE_MAX_THREADS;
}

static void
test_alone(void)
{
	struct ledger g = { .nr = 0 };
	struct log_drain *d;

	make_image();
	d = new_drain();
	l->alone = 0x203;
	ok(round_of(d, at(1000), false, &g) && l->alone == 0x203, "a place that is alone stays so");
	l->alone = WIRE_LOG_TOGETHER;
	ok(round_of(d, at(2000), false, &g) && l->alone != WIRE_LOG_TOGETHER &&
			!is_places(l->alone),
		"places are together for a round, and then none is alone");
	l->alone = WIRE_LOG_TOGETHER;
	turn = 0x203;
	ok(round_of(d, at(3000), false, &g) && (l->alone == 0x203 || !is_places(l->alone)),
		"one that takes its turn meanwhile is not taken for another one");
	log_drain_free(d);
}

/* ---- the order of time ---- */

static bool
round_to(struct log_drain *d, uint64_t now_ns, bool is_last, const struct log_sink *sink)
{
	const struct log_now now = at(now_ns);
	struct err e;

	return log_drain_round(d, &now, is_last, sink, &e) == 0;
}

#define NR_TIMES 5000

struct times {
	uint64_t ns[NR_TIMES];
	size_t nr;
};

static int
keep_times(void *context, const struct event *v, size_t nr, struct err *e)
{
	struct times *t = context;

	(void)e;
	for (size_t i = 0; i < nr && t->nr < NR_TIMES; i++)
		t->ns[t->nr++] = v[i].time_ns;
	return 0;
}

/* At each time, that of the drain passes as well, in the middle of what is appended. */
static void
test_order(void)
{
	static struct times got;
	struct place place[NR_PLACES] = { { .owner = 0 } };
	const struct log_sink sink = { &got, keep_times };
	static uint64_t want[NR_TIMES];
	uint64_t now_ns = 1000;
	bool is_fine = true;
	struct log_drain *d;

	make_image();
	got.nr = 0;
	d = new_drain();
	for (uint32_t i = 0; i < NR_PLACES; i++)
		place[i].owner = i + 1;
	for (uint32_t i = 0; i < NR_TIMES; i++) {
		now_ns += !some(4);
		want[i] = now_ns;
		append_next(&place[some(NR_PLACES)], now_ns);
		if (!some(20))
			is_fine = is_fine && round_to(d, now_ns, false, &sink);
		if (!some(20))
			is_fine = is_fine && (!got.nr || got.ns[got.nr - 1] < now_ns);
	}
	is_fine = is_fine && round_to(d, now_ns, true, &sink);
	ok(is_fine && got.nr == NR_TIMES && memcmp(got.ns, want, sizeof want) == 0,
		"all threads' events have their times, in order");
	log_drain_free(d);
}

/* All within one tick: each frees what others have allocated, so that nothing else is in use. */
struct balance {
	int64_t blocks[MAX_SITES], bytes[MAX_SITES];
	uint64_t nr, nr_wrong;
};

static int
keep_balance(void *context, const struct event *v, size_t nr, struct err *e)
{
	struct balance *b = context;

	(void)e;
	for (size_t i = 0; i < nr; i++) {
		const int sign = v[i].kind == EVENT_ALLOCATED ? 1 : -1;

		b->blocks[v[i].site] += sign;
		b->bytes[v[i].site] += sign * (int64_t)v[i].bytes;
		b->nr_wrong += b->blocks[v[i].site] < 0 || b->bytes[v[i].site] < 0 ||
			(!b->blocks[v[i].site] && b->bytes[v[i].site]);
	}
	b->nr += nr;
	return 0;
}

static void
test_one_tick(void)
{
	struct place place[NR_PLACES] = { { .owner = 0 } };
	struct balance b = { .nr = 0 };
	const struct log_sink sink = { &b, keep_balance };
	uint64_t bytes[MAX_SITES] = { 0 };
	struct log_drain *d;

	make_image();
	d = new_drain();
	for (uint32_t i = 0; i < NR_PLACES; i++)
		place[i].owner = i + 1;
	for (uint32_t i = 0; i < 20000; i++) {
		const uint32_t site = 1 + some(MAX_SITES - 1);
		const enum wire_log_kind kind = bytes[site] ? WIRE_LOG_FREED : WIRE_LOG_ALLOCATED;
		uint64_t word;

		if (kind == WIRE_LOG_ALLOCATED)
			bytes[site] = 1 + some(1000);
		word = wire_log_event(kind, site, bytes[site], 0);
		append(&place[some(NR_PLACES)], 1000, &word, 1);
		if (kind == WIRE_LOG_FREED)
			bytes[site] = 0;
	}
	ok(round_to(d, 2000, false, &sink) && b.nr == 20000 && !b.nr_wrong,
		"nothing is freed before it was allocated, also with equal stamps");
	log_drain_free(d);
}

/* ---- mappings ---- */

#define NR_MAPPING_EVENTS 5000

struct mapping_event {
	enum event_kind kind;
	uint32_t site;
	uint64_t bytes;
};

struct mapping_events {
	struct mapping_event v[NR_MAPPING_EVENTS];
	size_t nr, nr_out, nr_others, nr_wrong;
};

static int
check_mappings(void *context, const struct event *v, size_t nr, struct err *e)
{
	struct mapping_events *m = context;

	(void)e;
	for (size_t i = 0; i < nr; i++) {
		const struct mapping_event *want = &m->v[m->nr_out];

		if (!event_is_of_mapping(v[i].kind)) {
			m->nr_others++;
			continue;
		}
		m->nr_wrong += m->nr_out++ >= m->nr || v[i].kind != want->kind ||
			v[i].site != want->site || v[i].bytes != want->bytes;
	}
	return 0;
}

static bool
append_mapping(struct place *p, struct mapping_events *m, uint64_t now_ns)
{
	struct mapping_event *v = &m->v[m->nr++];
	const uint32_t kind = some(4);
	uint64_t word[2];

	v->kind = (enum event_kind)(EVENT_MAPPED + kind);
	v->site = 1 + some(MAX_SITES - 1);
	v->bytes = some(3) ? some(100000) : (UINT64_C(1) << (40 + some(18))) - some(2);
	word[0] = wire_log_event(WIRE_LOG_ALLOCATED, v->site, WIRE_LOG_MANY_BYTES, 0);
	word[1] = wire_log_mapping((enum wire_log_kind)(WIRE_LOG_MAPPED + kind), v->bytes);
	return append(p, now_ns, word, 2);
}

/* Within few ticks, beside blocks of threads: each comes out as it was appended, in that order. */
static void
test_mappings(void)
{
	static struct mapping_events m;
	struct place of_mappings = { .owner = WIRE_LOG_OWNER_OF_MAPPINGS }, other = { .owner = 1 };
	const struct log_sink sink = { &m, check_mappings };
	uint64_t now_ns = 1000;
	bool is_fine = true;
	struct log_drain *d;

	make_image();
	m.nr = m.nr_out = m.nr_others = m.nr_wrong = 0;
	d = new_drain();
	for (uint32_t i = 0; i < NR_MAPPING_EVENTS; i++) {
		now_ns += !some(500);
		is_fine = append_mapping(&of_mappings, &m, now_ns) && append_next(&other, now_ns) &&
			is_fine;
		if (!some(100))
			is_fine = round_to(d, now_ns, false, &sink) && is_fine;
	}
	is_fine = round_to(d, now_ns, true, &sink) && is_fine;
	ok(is_fine && m.nr_out == NR_MAPPING_EVENTS && m.nr_others == other.nr_appended,
		"events of mappings come out beside others");
	ok(!m.nr_wrong && !log_drain_state(d).nr_damaged, "in their order, with their bytes");
	log_drain_free(d);
}

/* A thread read the clock, and was held up before it appended. */
static void
test_late(void)
{
	struct place a = { .owner = 1 }, b = { .owner = 2 };
	static struct times got;
	const struct log_sink sink = { &got, keep_times };
	struct log_drain *d;

	make_image();
	got.nr = 0;
	d = new_drain();
	append_next(&a, 100);
	append_next(&a, 500);
	round_to(d, 600, false, &sink);
	append_next(&b, 200);
	append_next(&b, 700);
	append_next(&b, UINT64_C(1) << 60);
	append_next(&b, 800);
	round_to(d, 700, false, &sink);
	is_u64(got.nr, 3, "what is not over is left for later");
	is_u64(got.ns[2], 500, "time never goes back");
	is_u64(log_drain_state(d).nr_unordered, 1, "an event behind a later one is counted");
	is_u64(log_drain_state(d).unordered_bytes, bytes_of(0), "and its bytes");
	round_to(d, 900, true, &sink);
	ok(got.nr == 6 && got.ns[3] == 700 && got.ns[4] == 900 && got.ns[5] == 900,
		"times that make no sense become possible ones");
	is_u64(log_drain_state(d).nr_unordered, 1, "and no others are counted for them");
	log_drain_free(d);
}

/* ---- events that are under way ---- */

/* P has got a stamp for an event, and no processor to append it. */
static void
lose_processor(const struct place *p)
{
	p->block->nr_words |= WIRE_LOG_IS_STAMPING;
}

static void
have_processor(const struct place *p)
{
	p->block->nr_words &= ~WIRE_LOG_IS_STAMPING;
}

/* Where the counter shows is not known then. */
static void
test_under_way_at_first(void)
{
	const uint64_t now_ns = UINT64_C(1) << 40;
	struct place a = { .owner = 1 }, b = { .owner = 2 };
	struct ledger g = { .nr = 0 };
	struct log_drain *d;

	make_image();
	d = new_drain();
	append_next(&a, now_ns);
	lose_processor(&a);
	append_next(&b, now_ns + 2);
	round_of(d, at(now_ns + 10), false, &g);
	is_u64(g.nr, 0, "one is under way in the first round: all wait");
	have_processor(&a);
	append_next(&a, now_ns + 1);
	round_of(d, at(now_ns + 20), false, &g);
	ok(g.nr == 3 && !g.nr_wrong && !log_drain_state(d).nr_unordered, "then they come out");
	log_drain_free(d);
}

static void
test_under_way(void)
{
	struct place a = { .owner = 1 }, b = { .owner = 2 };
	struct ledger g = { .nr = 0 };
	struct log_drain *d;

	make_image();
	d = new_drain();
	append_next(&a, 100);
	append_next(&b, 110);
	round_of(d, at(200), false, &g);
	is_u64(g.nr, 2, "events come out");
	lose_processor(&a);
	append_next(&b, 190);
	append_next(&b, 250);
	append_next(&b, 260);
	round_of(d, at(300), false, &g);
	is_u64(g.nr, 3, "one is under way: those since the last round wait, and none before that");
	round_of(d, at(400), false, &g);
	is_u64(g.nr, 3, "as long as it is");
	have_processor(&a);
	append_next(&a, 255);
	lose_processor(&a); /* with another one */
	round_of(d, at(500), false, &g);
	is_u64(g.nr, 6, "then they come out, though another one is under way since");
	is_u64(log_drain_state(d).nr_unordered, 0, "in order");
	log_drain_free(d);
}

/* A thread that something has stopped for good. */
static void
test_under_way_for_long(void)
{
	struct place a = { .owner = 1 }, b = { .owner = 2 };
	struct ledger g = { .nr = 0 };
	struct log_drain *d;
	uint64_t now_ns = 1000;

	make_image();
	d = new_drain();
	append_next(&a, 100);
	append_next(&b, 100);
	round_of(d, at(200), false, &g);
	lose_processor(&a);
	append_next(&b, 300);
	for (int i = 0; i < 20; i++)
		round_of(d, at(now_ns++), false, &g);
	is_u64(g.nr, 2, "20 rounds long an event is waited for");
	round_of(d, at(now_ns++), false, &g);
	is_u64(g.nr, 3, "but not longer");
	have_processor(&a);
	append_next(&a, 250);
	round_of(d, at(now_ns), false, &g);
	ok(g.nr == 4 && log_drain_state(d).nr_unordered == 1, "when it comes it is counted");
	log_drain_free(d);
}

static void
test_under_way_without_room(void)
{
	struct place a = { .owner = 1 }, b = { .owner = 2 };
	struct ledger g = { .nr = 0 };
	struct log_drain *d;

	make_image();
	d = new_drain();
	append_next(&a, 100);
	lose_processor(&a);
	for (uint64_t i = 0; nr_taken() <= NR_BLOCKS / 4 * 3; i++)
		append_next(&b, 200 + i);
	round_of(d, at(1000000), false, &g);
	is_u64(g.nr, 1 + b.nr_appended, "nothing waits when few blocks are free");
	log_drain_free(d);
}

static void
test_unsteady(void)
{
	struct place a = { .owner = 1 }, b = { .owner = 2 };
	struct ledger g = { .nr = 0 };
	struct log_drain *d;
	struct err e;

	make_image();
	if (log_drain_new(&d, &(struct log_source){ .fd = fd }, &head, false, &e) < 0)
		exit(99);
	append_next(&a, 100);
	append_next(&a, 110);
	round_of(d, at(200), false, &g);
	is_u64(log_drain_state(d).nr_unordered, 0, "the order of one thread is known");
	append_next(&a, 300);
	append_next(&b, 310);
	append_next(&a, 320);
	round_of(d, at(400), false, &g);
	ok(g.nr == 5 && log_drain_state(d).nr_unordered >= 2,
		"where counters differ that of several is not");
	log_drain_free(d);
}

static void
test_gone_back(void)
{
	struct place a = { .owner = 1 }, b = { .owner = 2 };
	struct ledger g = { .nr = 0 };
	struct log_drain *d;
	uint64_t nr_unordered;

	make_image();
	d = new_drain();
	append_next(&a, 1000000);
	round_of(d, at(2000000), false, &g);
	append_next(&a, 2100000);
	append_next(&b, 500);
	append_next(&a, 600);
	round_of(d, at(1000), false, &g);
	nr_unordered = log_drain_state(d).nr_unordered;
	ok(g.nr == 4 && nr_unordered,
		"the counter has gone back: nothing waits, and the order is not known");
	append_next(&b, 1100);
	append_next(&a, 1200);
	round_of(d, at(2000), false, &g);
	ok(g.nr == 6 && log_drain_state(d).nr_unordered == nr_unordered, "then it is known again");
	log_drain_free(d);
}

/* ---- the process is killed ---- */

struct killed {
	uint64_t nr_appended[NR_PLACES];
};

static _Noreturn void
append_until_killed(struct killed *k)
{
	struct place place[NR_PLACES] = { { .owner = 0 } };

	for (uint32_t i = 0; i < NR_PLACES; i++)
		place[i].owner = i + 1;
	for (;;) {
		const uint32_t i = some(NR_PLACES);

		append_next(&place[i], REAL_NS);
		__atomic_store_n(&k->nr_appended[i], place[i].nr_appended, __ATOMIC_RELEASE);
	}
}

static bool
kill_one(struct killed *k)
{
	struct ledger g = { .nr = 0 };
	struct log_drain *d;
	const uint64_t enough = some(20000);
	bool is_fine = true;
	pid_t child;

	make_image();
	memset(k, 0, sizeof *k);
	child = fork();
	if (child == 0)
		append_until_killed(k);
	d = new_drain();
	while (is_fine && __atomic_load_n(&k->nr_appended[0], __ATOMIC_ACQUIRE) < enough)
		is_fine = round_of(d, real_now(), false, &g);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	is_fine = is_fine && round_of(d, real_now(), true, &g);
	/* It may not have come to say so of the last one. */
	for (uint32_t i = 0; i < NR_PLACES; i++)
		is_fine = is_fine && g.next[i + 1] - k->nr_appended[i] <= 1;
	is_fine = is_fine && !g.nr_wrong && !log_drain_state(d).nr_damaged;
	log_drain_free(d);
	return is_fine;
}

static void
test_killed(void)
{
	const int nr = tap_share(100);
	struct killed *k =
		mmap(NULL, sizeof *k, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int nr_fine = 0;

	for (int i = 0; i < nr; i++)
		nr_fine += kill_one(k);
	ok(nr_fine == nr, "the process is killed, %d times: nothing is missing", nr);
}

/* ---- in a process ---- */

static _Noreturn void
append_some(struct killed *k)
{
	struct place p = { .owner = 1 };

	while (p.nr_appended < 10000)
		append_next(&p, REAL_NS);
	__atomic_store_n(&k->nr_appended[0], p.nr_appended, __ATOMIC_RELEASE);
	for (;;)
		pause();
}

static void
test_process(void)
{
	auto_target struct target t = TARGET_NONE;
	struct log_source s = { .target = &t };
	struct killed *k =
		mmap(NULL, sizeof *k, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct ledger g = { .nr = 0 };
	struct log_drain *d = NULL;
	const struct log_now now = real_now();
	struct err e = { 0 };
	bool is_fine;
	pid_t child;

	make_image();
	s.at.v = (uint64_t)(uintptr_t)image;
	s.size_bytes = head.size_bytes;
	child = fork();
	if (child == 0)
		append_some(k);
	while (!__atomic_load_n(&k->nr_appended[0], __ATOMIC_ACQUIRE))
		os_sleep_ns(1000000);
	is_fine = target_open(&t, child, &e) == 0 && log_drain_new(&d, &s, &head, true, &e) == 0 &&
		round_of(d, real_now(), true, &g);
	ok(is_fine && g.next[1] == 10000 && !g.nr_wrong, "from the memory of a process%s%s",
		*e.msg ? ": " : "", e.msg);
	is_u64(nr_taken(), 1, "and there blocks are given back as well");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	ok(!d || log_drain_round(d, &now, true, &(struct log_sink){ &g, check_events }, &e) < 0,
		"a process that is gone: %s", e.msg);
	log_drain_free(d);
}

/* ---- damage ---- */

static void
test_torn(void)
{
	struct place a = { .owner = 1 }, b = { .owner = 2 };
	struct ledger g = { .nr = 0 };
	struct wire_log_block *last;
	struct log_drain *d;

	make_image();
	last = wire_log_block(l, NR_BLOCKS - 1);
	d = new_drain();
	/* Taken, and nothing else was done. */
	last->owner = 3;
	last->opening = 1;
	append_next(&a, 10);
	ok(round_of(d, at(20), false, &g) && g.nr == 1, "a block that was only taken");
	last->number = 1;
	ok(round_of(d, at(20), false, &g) && g.nr == 1, "a block that is empty");
	append_next(&b, 10);
	b.block->nr_words++; /* what is there is no event: site 0 */
	ok(round_of(d, at(20), true, &g) && g.nr == 2 && log_drain_state(d).nr_damaged == 1,
		"a word that is no event is counted");
	b.block->nr_words = 1;
	ok(round_of(d, at(20), true, &g) && log_drain_state(d).nr_damaged == 2,
		"a block that has become shorter is left alone, and counted");
	last->nr_words = MAX_WORDS + 1;
	ok(round_of(d, at(20), true, &g) && round_of(d, at(20), true, &g) && g.nr == 2 &&
			log_drain_state(d).nr_damaged == 3,
		"a block with too many words as well, once");
	ok(!g.nr_wrong, "nothing else comes out");
	log_drain_free(d);
}

/* An earlier writer of the log has left words in it. */
static void
test_opened_again(void)
{
	struct place a = { .owner = 1 };
	struct ledger g = { .nr = 0 };
	struct log_drain *d;

	make_image();
	append_next(&a, 10);
	a.block->is_full = 1;
	a.block = NULL;
	append_next(&a, 20);
	l->is_open = l->nr_openings = 2;
	d = new_drain();
	ok(round_of(d, at(30), false, &g) && g.nr == 0,
		"what is of an earlier opening does not come out");
	is_u64(nr_taken(), 1, "but its full blocks are given back");
	a.block = NULL;
	a.nr_appended = 0;
	append_next(&a, 40);
	ok(round_of(d, at(50), false, &g) && g.nr == 1 && !g.nr_wrong,
		"and what follows comes out");
	log_drain_free(d);
}

/* What the agent has made, but not begun: its events have another opening. */
static void
test_not_yet_open(void)
{
	struct place a = { .owner = 1 };
	struct ledger g = { .nr = 0 };
	struct log_drain *d = NULL;
	struct err e = { 0 };

	make_image();
	l->is_open = l->nr_openings = 0;
	ok(log_drain_new(&d, &(struct log_source){ .fd = fd }, &head, true, &e) < 0 &&
			e.kind == ERR_UNSUPPORTED,
		"a log that was not opened yet is refused");
	l->is_open = l->nr_openings = 1;
	d = new_drain();
	append_next(&a, 10);
	ok(round_of(d, at(20), false, &g) && g.nr == 1 && !g.nr_wrong,
		"once it is open, its events come out");
	log_drain_free(d);
}

static void
scribble(void)
{
	uint32_t nr = some(100);

	while (nr--) {
		struct wire_log_block *b = wire_log_block(l, some(NR_BLOCKS));

		switch (some(6)) {
		case 0:
			b->owner = some(2) ? some(10) : some(UINT32_MAX);
			break;
		case 1:
			b->number = some(2) ? some(10) : (uint64_t)some(UINT32_MAX) << 33;
			break;
		case 2:
			b->nr_words = some(2) ? some(MAX_WORDS + 10) : some(UINT32_MAX);
			break;
		case 3:
			b->is_full = some(3);
			b->opening = some(5) ? 1 : some(3);
			break;
		default:
			for (uint32_t i = 0; i < 50; i++)
				b->word[some(MAX_WORDS)] = some(2)
					? wire_log_event((enum wire_log_kind)some(3), some(80),
						  some(3) ? some(UINT32_MAX) : WIRE_LOG_MANY_BYTES,
						  some(UINT32_MAX))
					: (uint64_t)some(UINT32_MAX) << 40 ^
						(uint64_t)some(UINT32_MAX) << 20 ^ some(1000);
		}
	}
}

static void
test_damage(void)
{
	struct ledger g = { .is_any = true };
	struct log_drain *d;
	bool is_fine = true;

	make_image();
	d = new_drain();
	for (int i = 0; is_fine && i < 100; i++) {
		scribble();
		is_fine = round_of(d, at(1000 + (uint64_t)i), !some(4), &g);
	}
	printf("# %" PRIu64 " events, %" PRIu64 " damaged\n", g.nr, log_drain_state(d).nr_damaged);
	ok(is_fine && g.nr && !g.nr_wrong, "of damaged blocks only possible events come out");
	log_drain_free(d);
}

static void
refused(const char *name)
{
	const struct log_source s = { .fd = fd };
	struct log_drain *d = NULL;
	struct err e = { 0 };

	ok(log_drain_new(&d, &s, &head, true, &e) < 0 && e.kind == ERR_UNSUPPORTED, "%s: %s", name,
		e.msg);
	log_drain_free(d);
}

static void
test_heads(void)
{
	const struct wire_sites whole = head;

	make_image();
	l->magic++;
	refused("no log");
	l->magic--;
	l->nr_blocks = NR_BLOCKS + 1;
	refused("more blocks than there is room for");
	l->nr_blocks = 0;
	refused("no blocks");
	l->nr_blocks = NR_BLOCKS;
	head.log_at = 0;
	refused("a record without a log");
	head.log_at = SIZE_BYTES;
	refused("a log behind the end");
	head.log_at = SIZE_BYTES - 8;
	ok(ftruncate(fd, SIZE_BYTES + 4096) == 0, "there is more");
	refused("a log that has no room");
	head = whole;
}

int
main(int argc, char **argv)
{
	const unsigned int first = argc > 1 ? (unsigned int)atoi(argv[1]) : 1;
	const unsigned int nr = argc > 2 ? (unsigned int)atoi(argv[2]) : 2;

	limit_cpu(600);
	for (unsigned int i = first; i < first + nr; i++) {
		printf("# seed %u\n", i);
		seed = i;
		test_threads();
		test_bits();
		test_alone();
		test_order();
		test_one_tick();
		test_mappings();
		test_damage();
	}
	test_late();
	test_under_way_at_first();
	test_under_way();
	test_under_way_for_long();
	test_under_way_without_room();
	test_unsteady();
	test_gone_back();
	test_killed();
	test_process();
	test_torn();
	test_opened_again();
	test_not_yet_open();
	test_heads();
	return tap_end();
}
