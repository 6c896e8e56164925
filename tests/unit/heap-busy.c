/*
 * heap-busy [READS]: the heap reader on programs that never stop allocating, against their own
 * account of what they have.  They keep it in memory that is shared with us, and it is copied at
 * the moment an arena is read, while all of their threads stand still.  A number that is said to be
 * exact may differ from it by what is in flight: one call of malloc or free a thread.
 */
#include <config.h>

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <pthread.h>

#include "child.h"
#include "glibc/arenas.h"
#include "heap/heap-priv.h"
#include "heap/heap.h"
#include "heap/pages-priv.h"
#include "heap/read.h"
#include "tap.h"

#define THREADS_MAX 8
#define NR_SLOTS 300
#define NR_SHARED 64
/* malloc may give a chunk that is this much larger than what was asked for, header and all. */
#define CHUNK_MORE 64
/* A thread caches chunks up to a bit less than this. */
#define CACHED_MAX 1100
/* Errors that are printed at most. */
#define PRINTED_MAX 5
#define HEAP_BYTES ((uintptr_t)64 << 20)

struct amount {
	atomic_llong count, bytes; /* of chunks */
};

/*
 * A thread and its arena: blocks of it are freed, and had again from caches, by other threads, too.
 */
struct worker {
	struct amount has;    /* of the arena, whoever has it */
	struct amount flight; /* may be in use besides */
	atomic_bool is_at_rest;
	uint64_t arena;
};

/* Shared with the child. */
static struct shared {
	atomic_bool is_busy, is_over;
	int nr_threads;
	struct amount flight; /* of any arena, as what is cached can be of another thread's */
	struct worker worker[THREADS_MAX];
} * shared;

/* ---- the child ---- */

static pthread_barrier_t arenas_are_known;
static _Atomic(void *) exchange[NR_SHARED];

static void
add(struct amount *a, long long count, long long bytes)
{
	a->count += count;
	a->bytes += bytes;
}

static long long
chunk_bytes(void *p)
{
	return (long long)(malloc_usable_size(p) + sizeof(size_t));
}

/* Where the heap that has P begins is a pointer to the arena; but not in the main one's memory. */
static uint64_t
arena_of_block(void *p)
{
	return shared->nr_threads == 1 ? 0 : *(uint64_t *)((uintptr_t)p & -HEAP_BYTES);
}

static struct worker *
owner_of(void *p)
{
	struct worker *w = shared->worker;

	while (w->arena != arena_of_block(p))
		if (++w == shared->worker + shared->nr_threads)
			abort();
	return w;
}

static void *
take(struct worker *w, size_t align, size_t size)
{
	struct amount *flight = size <= CACHED_MAX ? &shared->flight : &w->flight;
	/* The parts that aligned_alloc() cuts off in front and behind are in use for a moment. */
	long long count = align ? 3 : 1, most = (long long)(size + 2 * align + CHUNK_MORE);
	void *p;

	add(flight, count, most);
	p = align ? aligned_alloc(align, (size + align - 1) & -align) : malloc(size);
	if (!p)
		abort();
	add(&owner_of(p)->has, 1, chunk_bytes(p));
	add(flight, -count, -most);
	return p;
}

static void
let_go(void *p)
{
	struct worker *w;
	long long bytes;

	if (!p)
		return;
	w = owner_of(p);
	bytes = chunk_bytes(p);
	add(&w->flight, 1, bytes);
	add(&w->has, -1, -bytes);
	free(p);
	add(&w->flight, -1, -bytes);
}

/* The arena stays the same. */
static void *
change(void *p, size_t size)
{
	struct worker *w = owner_of(p);
	/*
	 * Alone malloc takes no lock, and the free neighbour that it grows into, however large that
	 * is, is in use until the rest of it is cut off (_int_realloc()).
	 */
	long long old = chunk_bytes(p),
		  most = CHUNK_MORE + (shared->nr_threads > 1 ? old + (long long)size : 1 << 30);

	add(&w->flight, 2, most);
	add(&w->has, -1, -old);
	p = realloc(p, size);
	if (!p)
		abort();
	add(&w->has, 1, chunk_bytes(p));
	add(&w->flight, -2, -most);
	return p;
}

static uint32_t
draw(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static size_t
draw_size(uint32_t *state)
{
	uint32_t kind = draw(state) % 100, size = draw(state);

	return 1 + (kind < 60 ? size % 200 : kind < 90 ? size % 3000 : size % 60000);
}

/* Let go of what is in SLOT, or change it, or hand it to another thread. */
static void
step(void **slot, struct worker *w, uint32_t *state)
{
	uint32_t kind = draw(state) % 16;
	size_t size = draw_size(state);

	if (kind < 2 && *slot) {
		*slot = change(*slot, size);
	} else if (kind < 4) {
		*slot = atomic_exchange(&exchange[draw(state) % NR_SHARED], *slot);
	} else {
		let_go(*slot);
		*slot = kind < 6 ? NULL : take(w, kind == 6 ? 64 << (size & 3) : 0, size);
	}
}

/* Fill the slots, rest until it begins, and go on until it is over. */
static void
work(uint32_t nr)
{
	static __thread void *slot[NR_SLOTS];
	struct worker *w = &shared->worker[nr];
	uint32_t state = nr + 1;
	void *first = malloc(1);

	w->arena = arena_of_block(first);
	/*
	 * Since 2.42 the first free() makes the thread's cache, whose chunk is part of what is in
	 * use at rest.
	 */
	free(first);
	pthread_barrier_wait(&arenas_are_known);
	for (int i = 0; i < NR_SLOTS; i++)
		slot[i] = take(w, 0, draw_size(&state));
	while (!shared->is_over) {
		w->is_at_rest = !shared->is_busy;
		if (w->is_at_rest)
			usleep(1000);
		for (int i = 0; i < 100 && !w->is_at_rest; i++)
			step(&slot[draw(&state) % NR_SLOTS], w, &state);
	}
}

static void *
work_as(void *nr)
{
	work((uint32_t)(uintptr_t)nr);
	return NULL;
}

/* Alone, main is the one that works; else it waits for the others. */
static void
be_busy(void *arg)
{
	pthread_t thread[THREADS_MAX];
	int nr = shared->nr_threads;

	(void)arg;
	/* There may be fewer processors than threads, and we want to have our turn. */
	if (nice(19) < 0)
		abort();
	pthread_barrier_init(&arenas_are_known, NULL, (unsigned int)nr);
	puts("ready");
	fflush(stdout);
	if (nr == 1)
		work(0);
	for (int i = 0; nr > 1 && i < nr; i++)
		if (pthread_create(&thread[i], NULL, work_as, (void *)(uintptr_t)i) != 0)
			abort();
	for (int i = 0; nr > 1 && i < nr; i++)
		pthread_join(thread[i], NULL);
}

/* ---- the account at the moment an arena is read ---- */

struct account {
	uint64_t arena; /* the worker's */
	long long count, bytes;
	long long flight_count, flight_bytes;
	/* what is in use besides, and what malloc has for itself, when all are at rest */
	long long rest_count, rest_bytes;
	uint64_t overhead_bytes;
	size_t nr_segments;
};

static struct account account[THREADS_MAX];

static void
copy_account(int i)
{
	const struct worker *w = &shared->worker[i];

	account[i].count = w->has.count;
	account[i].bytes = w->has.bytes;
	account[i].flight_count = w->flight.count + shared->flight.count;
	account[i].flight_bytes = w->flight.bytes + shared->flight.bytes;
}

int __real_reader_read_arena(struct reader *r, const struct arena *a, bool by_lists,
	struct heap_arena *arena, struct err *e);
int __wrap_reader_read_arena(struct reader *r, const struct arena *a, bool by_lists,
	struct heap_arena *arena, struct err *e);

int
__wrap_reader_read_arena(struct reader *r, const struct arena *a, bool by_lists,
	struct heap_arena *arena, struct err *e)
{
	for (int i = 0; i < shared->nr_threads; i++)
		if (account[i].arena == a->addr.v)
			copy_account(i);
	return __real_reader_read_arena(r, a, by_lists, arena, e);
}

/* ---- the test ---- */

static void
wait_for_rest(bool is_at_rest)
{
	for (int i = 0; i < shared->nr_threads; i++)
		while (shared->worker[i].is_at_rest != is_at_rest)
			usleep(100);
}

static bool
read_heap(struct heap *h, struct view *v, const struct heap_options *opt)
{
	heap_release(h);
	process_release(&v->p);
	if (process_read(&v->p, &v->t, &v->e) == 0 && heap_read(h, &v->p, opt, &v->e) == 0)
		return true;
	printf("# %s\n", v->e.msg);
	return false;
}

static const struct heap_arena *
arena_of(const struct heap *h, uint64_t addr)
{
	for (size_t i = 0; i < h->arena.nr; i++)
		if (h->arena.v[i].addr.v == addr)
			return &h->arena.v[i];
	return NULL;
}

/* Account for chunks in use besides the workers' blocks.  False if some arena is not known. */
static bool
take_base(const struct heap *h)
{
	memset(account, 0, sizeof account);
	for (int i = 0; i < shared->nr_threads; i++) {
		/* Alone, main has the main arena. */
		uint64_t addr =
			shared->nr_threads == 1 ? h->arena.v[0].addr.v : shared->worker[i].arena;
		const struct heap_arena *arena = arena_of(h, addr);

		if (!arena || arena->certainty != HEAP_EXACT)
			return false;
		copy_account(i);
		account[i].arena = addr;
		account[i].rest_count =
			(long long)(arena->in_use.count - arena->cached.count) - account[i].count;
		account[i].rest_bytes =
			(long long)(arena->in_use.bytes - arena->cached.bytes) - account[i].bytes;
		account[i].overhead_bytes = arena->overhead_bytes;
		account[i].nr_segments = arena->segment.nr;
	}
	return true;
}

static bool
is_between(long long n, long long from, long long more)
{
	return n >= from && n <= from + more;
}

/* Whether ARENA is as worker I had it. */
static bool
is_right(const struct heap_arena *arena, const struct account *a)
{
	long long count = (long long)(arena->in_use.count - arena->cached.count) - a->rest_count;
	long long bytes = (long long)(arena->in_use.bytes - arena->cached.bytes) - a->rest_bytes;
	static int nr_printed;

	if (is_between(bytes, a->bytes, a->flight_bytes) &&
		(arena->is_by_lists || is_between(count, a->count, a->flight_count)) &&
		(arena->segment.nr != a->nr_segments || arena->overhead_bytes == a->overhead_bytes))
		return true;
	if (nr_printed++ >= PRINTED_MAX)
		return false;
	printf("# arena %u: %lld chunks, %lld bytes, of its own %" PRIu64
	       "; really %lld to %lld, %lld "
	       "to %lld, %" PRIu64 "\n",
		arena->nr, count, bytes, arena->overhead_bytes, a->count,
		a->count + a->flight_count, a->bytes, a->bytes + a->flight_bytes,
		a->overhead_bytes);
	return false;
}

struct tally {
	int nr_reads, nr_failed, nr_wrong;
	int nr[HEAP_EXACT + 1];
	char why[160];
};

static void
count(struct tally *t, const struct heap *h)
{
	for (int i = 0; i < shared->nr_threads; i++) {
		const struct heap_arena *arena = arena_of(h, account[i].arena);

		t->nr[arena->certainty]++;
		if (arena->certainty == HEAP_EXACT && !is_right(arena, &account[i]))
			t->nr_wrong++;
		if (arena->certainty != HEAP_EXACT)
			memcpy(t->why, arena->why, sizeof t->why);
	}
}

static void
read_often(struct view *v, const struct heap_options *opt, int nr_reads, const char *how)
{
	auto_heap struct heap h = { 0 };
	struct tally t = { .nr_reads = nr_reads };
	uint64_t stopped_ns = 0, nr_stops = 0;

	for (int i = 0; i < nr_reads; i++) {
		if (!read_heap(&h, v, opt)) {
			t.nr_failed++;
			continue;
		}
		count(&t, &h);
		stopped_ns += h.stopped_ns;
		nr_stops += h.nr_stops;
	}
	printf("# %d threads, %s: of %d arenas %d exact, %d consistent, %d approximate; %" PRIu64
	       " stops of %" PRIu64 " us; the last: %s\n",
		shared->nr_threads, how, nr_reads * shared->nr_threads, t.nr[HEAP_EXACT],
		t.nr[HEAP_CONSISTENT], t.nr[HEAP_APPROXIMATE], nr_stops,
		nr_stops ? stopped_ns / nr_stops / 1000 : 0, t.why);
	ok(t.nr_failed == 0, "%d threads, %s: read %d times", shared->nr_threads, how, nr_reads);
	ok(t.nr_wrong == 0, "%d threads, %s: what is exact is right", shared->nr_threads, how);
	if (opt->max_stop_ns)
		ok(t.nr[HEAP_EXACT] * 2 > nr_reads * shared->nr_threads,
			"%d threads, %s: and most is exact", shared->nr_threads, how);
	else
		ok(t.nr[HEAP_EXACT] == 0, "%d threads, %s: nothing is exact", shared->nr_threads,
			how);
}

/* At rest again the account must be right to the byte. */
static void
ask_at_rest(struct view *v, const struct heap_options *opt)
{
	auto_heap struct heap h = { 0 };
	struct tally t = { 0 };

	shared->is_busy = false;
	wait_for_rest(true);
	if (ok(read_heap(&h, v, opt), "%d threads: at rest", shared->nr_threads))
		count(&t, &h);
	ok(t.nr[HEAP_EXACT] == shared->nr_threads && !t.nr_wrong, "%d threads: all is exact",
		shared->nr_threads);
}

static void
test_threads(int nr_threads, int nr_reads)
{
	const struct heap_options walked = { .max_stop_ns = 300000000000 },
				  listed = { .max_stop_ns = 300000000000, .bins_only = true },
				  unstopped = { 0 };
	auto_heap struct heap h = { 0 };
	struct child c;
	struct view v;

	memset(shared, 0, sizeof *shared);
	memset(account, 0, sizeof account);
	shared->nr_threads = nr_threads;
	c = child_start(be_busy, NULL);
	wait_for_rest(true);
	if (!view_take(&v, c.pid))
		return;
	if (ok(read_heap(&h, &v, &walked) && take_base(&h), "%d threads: at rest all is known",
		    nr_threads)) {
		for (int i = 0; i < nr_threads; i++)
			shared->worker[i].is_at_rest = false;
		shared->is_busy = true;
		read_often(&v, &walked, nr_reads, "stopped");
		read_often(&v, &listed, nr_reads, "stopped, by lists");
		read_often(&v, &unstopped, nr_reads, "not stopped");
		ask_at_rest(&v, &walked);
	}
	shared->is_over = true;
	view_release(&v);
	ok(child_end(&c), "%d threads: the child is well", nr_threads);
}

int
main(int argc, char **argv)
{
	/* "most is exact" takes a number of reads: with a share of them it would be chance. */
	int nr_reads = argc > 1 ? atoi(argv[1]) : 20;

	alarm(1800);
	if (skip_if_sanitized("heaps of busy programs"))
		return tap_end();
	shared = mmap(
		NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 99;
	/* First, before this program has other arenas that the child's caches have chunks of. */
	test_threads(1, nr_reads);
	test_threads(THREADS_MAX, nr_reads);
	return tap_end();
}
