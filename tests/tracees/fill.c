/*
 * fill: takes blocks and keeps them, more than a small table has room for.
 *
 *	take N SIZE	-> "done" when N more blocks of SIZE are there
 *	stacks N SIZE DEPTH	-> the same, each with a stack of its own, of 2^DEPTH
 *	drop		-> "done" when all are freed
 *	churn N THREADS	-> "done" when each of so many threads has changed the size of a block N
 *			   times, beside 4096 others that it keeps: random sizes make the most of a
 *			   log in the least time
 *	sum		-> "BYTES BLOCKS BYTES BLOCKS": allocated by churn, and of that in use
 */
#include "tracee.h"

#include <malloc.h>

struct kept {
	struct kept *next;
};
static struct kept *kept;

/* Part of its caller, so that a stack has no frame more than it needs. */
static inline __attribute__((always_inline)) void
keep(size_t size)
{
	struct kept *k = malloc(size < sizeof *k ? sizeof *k : size);

	if (!k)
		tracee_fail("malloc");
	k->next = kept;
	kept = k;
}

/* The bits of PATH choose who calls whom. */
static void left(unsigned long path, int depth, size_t size);
static void right(unsigned long path, int depth, size_t size);

#define SIDE(name, nr)                                                                             \
	static __attribute__((noinline)) void name(unsigned long path, int depth, size_t size)     \
	{                                                                                          \
		if (!depth)                                                                        \
			keep(size);                                                                \
		else if (path & 1)                                                                 \
			left(path >> 1, depth - 1, size);                                          \
		else                                                                               \
			right(path >> 1, depth - 1, size);                                         \
		/* No tail call, and no two functions that are the same. */                        \
		__asm__ volatile("" : : "i"(nr));                                                  \
	}
SIDE(left, 1)
SIDE(right, 2)

static void
drop(void)
{
	while (kept) {
		struct kept *k = kept;

		kept = k->next;
		free(k);
	}
}

/* ---- blocks that come and go ---- */

#define MAX_CHURNS 8
#define NR_KEPT 4096
#define MOST_KEPT_BYTES 1024
#define MOST_BYTES (UINT64_C(8) << 20)

static struct churn {
	uint64_t random; /* 0: it has not begun */
	unsigned long nr;
	unsigned long long bytes, blocks, live_bytes, live_blocks;
	void *p; /* the last block of its heap, so that no byte of it is ever copied */
	size_t size;
} churns[MAX_CHURNS];

/* xorshift64 */
static uint64_t
next_random(struct churn *c)
{
	c->random ^= c->random << 13;
	c->random ^= c->random >> 7;
	c->random ^= c->random << 17;
	return c->random;
}

static void
note(struct churn *c, size_t size)
{
	c->bytes += size;
	c->blocks++;
	c->live_bytes += size;
	c->live_blocks++;
}

static void
churn_begin(struct churn *c)
{
	c->random = UINT64_C(88172645463325252) + (uintptr_t)c;
	for (int i = 0; i < NR_KEPT; i++) {
		const size_t size = sizeof(struct kept) + next_random(c) % MOST_KEPT_BYTES;

		note(c, size);
		keep(size);
	}
}

static void *
churn(void *arg)
{
	struct churn *c = arg;

	for (unsigned long i = 0; i < c->nr; i++) {
		const size_t size = 1 + (next_random(c) >> 32) % MOST_BYTES;
		void *p = realloc(c->p, size);

		if (!p)
			tracee_fail("realloc");
		c->live_bytes -= c->size;
		c->live_blocks -= !!c->p;
		c->p = p;
		c->size = size;
		note(c, size);
	}
	return NULL;
}

static void
churn_all(unsigned long nr, unsigned int nr_threads)
{
	pthread_t t[MAX_CHURNS];

	/* In the heaps, which keep what they have. */
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	for (unsigned int i = 0; i < nr_threads && i < MAX_CHURNS; i++) {
		churns[i].nr = nr;
		if (!churns[i].random)
			churn_begin(&churns[i]);
		if (pthread_create(&t[i], NULL, churn, &churns[i]))
			tracee_fail("pthread_create");
	}
	for (unsigned int i = 0; i < nr_threads && i < MAX_CHURNS; i++)
		pthread_join(t[i], NULL);
}

static void
say_sum(void)
{
	unsigned long long bytes = 0, blocks = 0, live_bytes = 0, live_blocks = 0;

	for (size_t i = 0; i < MAX_CHURNS; i++) {
		bytes += churns[i].bytes;
		blocks += churns[i].blocks;
		live_bytes += churns[i].live_bytes;
		live_blocks += churns[i].live_blocks;
	}
	tracee_say("%llu %llu %llu %llu", bytes, blocks, live_bytes, live_blocks);
}

int
main(void)
{
	char line[200];

	tracee_ready();
	while (tracee_command(line, sizeof line)) {
		unsigned int nr_threads;
		unsigned long nr;
		int depth;
		size_t size;

		if (sscanf(line, "take %lu %zu", &nr, &size) == 2) {
			for (unsigned long i = 0; i < nr; i++)
				keep(size);
		} else if (sscanf(line, "stacks %lu %zu %d", &nr, &size, &depth) == 3) {
			for (unsigned long i = 0; i < nr; i++)
				left(i, depth, size);
		} else if (sscanf(line, "churn %lu %u", &nr, &nr_threads) == 2) {
			churn_all(nr, nr_threads);
		} else if (strcmp(line, "drop") == 0) {
			drop();
		} else if (strcmp(line, "sum") == 0) {
			say_sum();
			continue;
		} else {
			tracee_say("what?");
			continue;
		}
		tracee_say("done");
	}
	return tracee_end();
}
