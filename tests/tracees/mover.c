/*
 * mover: two threads that move nodes between lists as fast as they can, a third that allocates and
 * frees, and 1,000 lost blocks, half of them in the arena of the third.
 *
 *	count	-> nodes moved so far
 *	deep	lose a block of DEEP_BYTES whose address is left far below the stack pointer
 *	lock	hold the lock of the third thread's arena from now on
 * Each answers as count.
 */
#include "tracee.h"

#include <stdatomic.h>

#define NR_THREADS 2
#define NR_LISTS 64
#define NR_NODES 100000 /* of each thread */
#define NR_LOST 1000
#define LOST_BYTES 1000
#define DEEP_BYTES 2000
#define HEAP_BYTES ((uintptr_t)64 << 20)
#define noinline __attribute__((noinline))

struct node {
	struct node *next;
	unsigned long nr_moves;
	char rest[32];
};

static struct node *volatile list[NR_THREADS][NR_LISTS];
static void *volatile guard[NR_LOST];
static void *volatile churned; /* a block of the third thread's arena */
static atomic_ulong nr_moved;

static noinline void
push(long thread, unsigned int to, struct node *n)
{
	n->next = list[thread][to];
	list[thread][to] = n;
}

static noinline void *
move(void *arg)
{
	const long thread = (long)(uintptr_t)arg;
	uint32_t random = (uint32_t)thread + 1;

	for (;;) {
		struct node *n;

		random = random * 1664525 + 1013904223;
		n = list[thread][random >> 8 & (NR_LISTS - 1)];
		if (!n)
			continue;
		list[thread][random >> 8 & (NR_LISTS - 1)] = n->next;
		n->nr_moves++;
		push(thread, random >> 20 & (NR_LISTS - 1), n);
		nr_moved++;
	}
	return NULL;
}

static noinline void
make_nodes(long thread)
{
	for (unsigned int i = 0; i < NR_NODES; i++) {
		struct node *n = calloc(1, sizeof *n);

		if (!n)
			tracee_fail("calloc");
		push(thread, i % NR_LISTS, n);
	}
}

static noinline void
lose_block(void)
{
	char *volatile p = malloc(LOST_BYTES);

	if (!p)
		tracee_fail("malloc");
	memset(p, 0x5a, LOST_BYTES);
}

static noinline void
lose_deep(void)
{
	void *volatile deep[6000];

	deep[0] = malloc(DEEP_BYTES);
	if (!deep[0])
		tracee_fail("malloc");
}

/*
 * Lock that arena as its thread does: a heap begins at a multiple of its size with the address of
 * its arena, which begins with the lock (malloc/arena.c, struct heap_info).
 */
static void
lock_arena(void)
{
	atomic_int *lock = *(atomic_int **)((uintptr_t)churned & -HEAP_BYTES);

	while (atomic_exchange(lock, 2))
		usleep(10);
}

/* Allocate and free between blocks that were lost before. */
static void *
churn(void *arg)
{
	static void *volatile block[NR_LOST];
	uint32_t random = 1;

	for (int i = 0; i < NR_LOST / 2; i++) {
		block[i] = calloc(1, 3000);
		lose_block();
		/* malloc has the addresses of free chunks: the ends of the blocks before. */
		guard[i] = calloc(1, 24);
	}
	churned = guard[0];
	tracee_scrub();
	*(atomic_int *)arg = 1;
	for (;;) {
		const unsigned int i = random >> 8 & 255;

		random = random * 1664525 + 1013904223;
		free(block[i]);
		block[i] = calloc(1, 1 + (random >> 17) % 3000);
		if (!block[i])
			tracee_fail("calloc");
	}
	return NULL;
}

int
main(void)
{
	static atomic_int is_churning;
	char line[64];

	for (long i = 0; i < NR_THREADS; i++)
		make_nodes(i);
	for (int i = 0; i < NR_LOST / 2; i++)
		lose_block();
	guard[NR_LOST - 1] = calloc(1, 24);
	tracee_scrub();
	tracee_thread(churn, &is_churning);
	for (long i = 0; i < NR_THREADS; i++)
		tracee_thread(move, (void *)(uintptr_t)i);
	while (!is_churning)
		usleep(1000);
	tracee_ready();
	while (tracee_command(line, sizeof line)) {
		if (strcmp(line, "deep") == 0)
			lose_deep();
		if (strcmp(line, "lock") == 0)
			lock_arena();
		tracee_say("%lu", nr_moved);
	}
	return tracee_end();
}
