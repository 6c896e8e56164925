/*
 * aligned SEED N: N large blocks, most of them aligned, of random sizes and alignments; some are
 * resized or given back at once. Commands:
 *	sum	answers "BYTES BLOCKS", usable
 *	hide	the page where malloc notes the size of one aligned block's mapping is dropped;
 *		answers "done", or
 *		"none" if no block has a page of its own for that
 *	touch	one more large block, whose mapping ends where the heap of a thread's arena begins;
 *		answers "done", or
 *		"none" if malloc found no such place
 *	free	gives all back
 */
#include "tracee.h"

#include <malloc.h>
#include <sys/mman.h>

#define MAX_BLOCKS 1000
#define PAGE_BYTES 4096
#define HEAP_BYTES                                                                                 \
	((uintptr_t)64 << 20) /* each begins at a multiple (HEAP_MAX_SIZE, malloc/arena.c) */
#define TOUCHING_BYTES ((size_t)30 << 20)

static void *block[MAX_BLOCKS];
static unsigned int seed;

static unsigned int
below(unsigned int n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % n;
}

static void
make(int i)
{
	const size_t size = (size_t)1 << (17 + below(5)), bytes = size + below(100000);

	if (below(4) == 0)
		block[i] = malloc(bytes);
	else if (posix_memalign(&block[i], (size_t)16 << below(18), bytes) != 0)
		tracee_fail("posix_memalign");
	if (below(5) == 0)
		block[i] = realloc(block[i], bytes + (size_t)below(3) * 1000000);
	if (below(6) == 0) {
		free(block[i]);
		block[i] = NULL;
	}
	if (block[i])
		memset(block[i], 1, bytes);
}

static void
say_sum(int nr)
{
	size_t bytes = 0;
	int blocks = 0;

	for (int i = 0; i < nr; i++)
		if (block[i]) {
			bytes += malloc_usable_size(block[i]);
			blocks++;
		}
	tracee_say("%zu %d", bytes, blocks);
}

static const char *
hide(int nr)
{
	for (int i = 0; i < nr; i++) {
		const size_t *header = block[i] ? (const size_t *)block[i] - 2 : NULL;

		if (!header || !(header[1] & 2) || header[0] < PAGE_BYTES)
			continue;
		madvise((char *)(uintptr_t)header - header[0], PAGE_BYTES, MADV_DONTNEED);
		return "done";
	}
	return "none";
}

static void *
use_own_arena(void *arg)
{
	void *p = malloc(100);

	free(arg);
	return p;
}

/*
 * The highest place comes first: blocks go where there is room above the heap, and then directly
 * below it.
 */
static const char *
touch_heap(int *nr)
{
	pthread_t thread;
	void *small;
	uintptr_t heap;

	if (pthread_create(&thread, NULL, use_own_arena, NULL) || pthread_join(thread, &small))
		tracee_fail("pthread_create");
	heap = (uintptr_t)small & ~(HEAP_BYTES - 1);
	while (*nr < MAX_BLOCKS) {
		/* or gcc warns of its header */
		const size_t *volatile p = malloc(TOUCHING_BYTES);

		if (!p)
			break;
		block[(*nr)++] = (void *)(uintptr_t)p;
		if (heap - (uintptr_t)(p - 2) - (p[-1] & ~(size_t)7) < PAGE_BYTES)
			return "done";
	}
	return "none";
}

int
main(int argc, char **argv)
{
	int nr = argc > 2 ? atoi(argv[2]) : 0;
	char line[64];

	if (nr < 1 || nr > MAX_BLOCKS)
		return 64;
	seed = (unsigned int)atoi(argv[1]);
	mallopt(M_MMAP_THRESHOLD, 128 * 1024); /* or it would grow with what is given back */
	for (int i = 0; i < nr; i++)
		make(i);
	tracee_ready();
	while (tracee_command(line, sizeof line)) {
		if (strcmp(line, "sum") == 0) {
			say_sum(nr);
		} else if (strcmp(line, "hide") == 0) {
			tracee_say("%s", hide(nr));
		} else if (strcmp(line, "touch") == 0) {
			tracee_say("%s", touch_heap(&nr));
		} else {
			for (int i = 0; i < nr; i++) {
				free(block[i]);
				block[i] = NULL;
			}
			tracee_say("done");
		}
	}
	return tracee_end();
}
