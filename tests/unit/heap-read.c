/*
 * The heap reader against two oracles: what the child's own malloc_info() says, to the last digit,
 * and what its own malloc_trim() gives back, to the last byte.  The children do random things to
 * their heaps; each seed is another program.
 */
#include <config.h>

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "child.h"
#include "heap/heap.h"
#include "tap.h"

#define NR_SEEDS 12
#define NR_SLOTS 3000
#define NR_STEPS 40000

/* What is in the way of brk while the main arena grows. */
enum obstacle {
	OBSTACLE_NONE,
	OBSTACLE_SBRK,		/* somebody else who uses it */
	OBSTACLE_MAPPING,	/* a mapping right behind it */
};

struct plan {
	unsigned int seed;
	int nr_threads;
	enum obstacle obstacle;
	bool has_child;		/* which shares all of its pages */
};

static pthread_barrier_t barrier;

static uint32_t
draw(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* Mostly small, at times large, now and then with a mapping of its own. */
static size_t
draw_size(uint32_t *state)
{
	uint32_t kind = draw(state) % 100;

	if (kind < 60)
		return draw(state) % 200;
	if (kind < 90)
		return draw(state) % 3000;
	return kind < 99 ? draw(state) % 60000 : draw(state) % 400000;
}

static void
step(void **slot, uint32_t *state)
{
	size_t size = draw_size(state);
	uint32_t kind = draw(state) % 16;
	void *p = NULL;

	if (kind < 6) {
		free(*slot);
	} else if (kind < 8) {
		p = realloc(*slot, size + 1);
	} else {
		free(*slot);
		p = kind < 10 ? aligned_alloc(64 << (kind & 3), (size & ~(size_t)4095) + 4096)
			      : malloc(size);
	}
	if (p)
		memset(p, 0x5a, kind & 1 ? 1 : size ? size : 1);
	*slot = p;
}

static void
put_in_the_way(enum obstacle obstacle)
{
	uintptr_t brk = (uintptr_t)sbrk(0);

	if (obstacle == OBSTACLE_SBRK)
		memset(sbrk(100000), 0x11, 100000);
	else if (obstacle == OBSTACLE_MAPPING)
		mmap((void *)((brk + 4095) & ~(uintptr_t)4095), 4096, PROT_READ,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static enum obstacle obstacle;

static void *
work(void *arg)
{
	static __thread void *slot[NR_SLOTS];
	uint32_t state = (uint32_t)(uintptr_t)arg;

	for (int i = 0; i < NR_STEPS; i++) {
		if (i == NR_STEPS / 2 && getpid() == gettid())
			put_in_the_way(obstacle);
		step(&slot[draw(&state) % NR_SLOTS], &state);
	}
	/* Let go of most of it, as a server does after its busy hour. */
	for (int i = 0; i < NR_SLOTS; i++)
		if (draw(&state) % 8) {
			free(slot[i]);
			slot[i] = NULL;
		}
	pthread_barrier_wait(&barrier);
	while (getpid() != gettid())
		pause();
	return NULL;
}

/* Says what malloc_info() does, and trims when it is told to. */
static void
run(void *arg)
{
	static char buffer[1 << 16], line[16];
	const struct plan *plan = arg;
	pthread_t thread;

	obstacle = plan->obstacle;
	setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
	setvbuf(stdin, NULL, _IONBF, 0);
	pthread_barrier_init(&barrier, NULL, (unsigned int)plan->nr_threads);
	malloc_trim(0);	/* its code is in memory now */
	for (int i = 1; i < plan->nr_threads; i++)
		pthread_create(&thread, NULL, work, (void *)(uintptr_t)(plan->seed * 100 + i));
	work((void *)(uintptr_t)(plan->seed * 100));
	if (plan->has_child && fork() == 0)
		for (prctl(PR_SET_PDEATHSIG, SIGKILL);;)
			pause();
	malloc_info(0, stdout);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		malloc_trim(0);
		puts("trimmed");
		fflush(stdout);
	}
}

static uint64_t
anon_bytes(struct view *v)
{
	struct os_status s = { 0 };

	os_status(&v->t, 0, &s, &v->e);
	return s.rss_anon_bytes;
}

static void
trim_child(struct child *c)
{
	char line[16];

	fputs("trim\n", c->in);
	fflush(c->in);
	if (!fgets(line, sizeof line, c->out))
		puts("# the child has ended");
}

static bool
read_heap(struct heap *h, struct view *v, const struct heap_options *opt)
{
	heap_release(h);
	if (heap_read(h, &v->t, &v->m, &v->o, opt, &v->e) == 0)
		return true;
	printf("# %s\n", v->e.msg);
	return false;
}

/* Every resident byte of every arena is in one class, and every byte of an arena is accounted for. */
static bool
adds_up(const struct heap *h)
{
	for (size_t i = 0; i < h->arena.nr; i++) {
		const struct heap_arena *a = &h->arena.v[i];
		uint64_t sum = 0;

		for (int c = HEAP_PAGE_LIVE; c <= HEAP_PAGE_TOP; c++)
			sum += a->page_bytes[c];
		if (sum != a->resident_bytes || a->certainty == HEAP_APPROXIMATE ||
			a->in_use.bytes + a->fast.bytes + a->binned.bytes + a->top.bytes +
					a->overhead_bytes !=
				a->system_bytes) {
			printf("# arena %zu: %s\n", i, a->why);
			return false;
		}
	}
	return h->arena.nr;
}

static uint64_t
predicted(const struct heap *h)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < h->arena.nr; i++)
		sum += h->arena.v[i].trim.rss_bytes;
	return sum;
}

static uint64_t
predicted_alone(const struct heap *h)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < h->arena.nr; i++)
		sum += h->arena.v[i].trim.uss_bytes;
	return sum;
}

/* The child's document, told by H. */
static bool
says_the_same(const struct heap *h, const char *said, struct err *e)
{
	auto_text struct text xml = { 0 };

	if (heap_write_xml(h, &xml, e) < 0)
		return false;
	if (xml.len == strlen(said) && memcmp(xml.v, said, xml.len) == 0)
		return true;
	for (size_t i = 0; i < xml.len; i++)
		if (xml.v[i] != said[i]) {
			printf("# at %zu: %.60s\n# not %.60s\n", i, xml.v + i, said + i);
			break;
		}
	return false;
}

/* Its in-use bytes and pages do not depend on the way they were found. */
static bool
lists_agree(const struct heap *walked, const struct heap *listed)
{
	for (size_t i = 0; i < walked->arena.nr; i++) {
		const struct heap_arena *a = &walked->arena.v[i], *b = &listed->arena.v[i];

		if (a->in_use.bytes != b->in_use.bytes || a->cached.bytes != b->cached.bytes ||
			a->trim.rss_bytes != b->trim.rss_bytes ||
			memcmp(a->page_bytes, b->page_bytes, sizeof a->page_bytes) != 0)
			return false;
	}
	return walked->arena.nr == listed->arena.nr;
}

static void
test_program(unsigned int seed, int nr_threads, enum obstacle in_the_way, bool has_child)
{
	struct plan plan = {
		.seed = seed,
		.nr_threads = nr_threads,
		.obstacle = in_the_way,
		.has_child = has_child,
	};
	struct child c = child_start(run, &plan);
	struct view v;
	auto_heap struct heap h = { 0 }, listed = { 0 };
	struct heap_options opt = { .max_stop_ns = 1000000000, .want_uss = true }, by_lists = opt;
	uint64_t before, after, present;

	by_lists.bins_only = true;
	if (!view_take(&v, c.pid))
		return;
	before = anon_bytes(&v);
	present = view_present_bytes(&v);
	ok(read_heap(&h, &v, &opt), "seed %u, %d threads: the heap can be read", seed, nr_threads);
	ok(h.arena.nr && h.arena.v[0].is_by_lists == (in_the_way != OBSTACLE_NONE),
		"seed %u: obstacle %d is seen", seed, in_the_way);
	ok(adds_up(&h), "seed %u: each arena adds up", seed);
	ok(says_the_same(&h, c.said, &v.e), "seed %u: malloc_info says the same", seed);
	ok(read_heap(&listed, &v, &by_lists) && says_the_same(&listed, c.said, &v.e) &&
			lists_agree(&h, &listed),
		"seed %u: so do malloc's lists alone", seed);
	ok(anon_bytes(&v) == before && view_present_bytes(&v) == present,
		"seed %u: no page came or went by it", seed);
	/* What the child has from us and never wrote to is shared with us. */
	ok(h.has_uss && predicted_alone(&h) <= predicted(&h) &&
			(has_child ? predicted_alone(&h) == 0
				   : predicted_alone(&h) > predicted(&h) - 200000),
		"seed %u: of what can be trimmed nobody else has %" PRIu64, seed,
		predicted_alone(&h));
	trim_child(&c);
	after = anon_bytes(&v);
	ok(before - after == predicted(&h), "seed %u: malloc_trim gave back %" PRIu64 " of %" PRIu64,
		seed, before - after, predicted(&h));
	ok(read_heap(&h, &v, &opt) && predicted(&h) == 0, "seed %u: and nothing is left to trim",
		seed);
	view_release(&v);
	ok(child_end(&c), "seed %u: the child is well", seed);
}

int
main(void)
{
	alarm(300);
	if (skip_if_sanitized("heaps of real programs"))
		return tap_end();
	for (unsigned int seed = 1; seed <= NR_SEEDS; seed++)
		test_program(seed, seed % 3 == 0 ? 1 : seed % 4 + 2, OBSTACLE_NONE, false);
	test_program(100, 2, OBSTACLE_SBRK, false);
	test_program(101, 2, OBSTACLE_MAPPING, false);
	test_program(102, 2, OBSTACLE_NONE, true);
	return tap_end();
}
