/*
 * corrupt WHAT: the heap_info of a thread arena (malloc/arena.c), or what is in it, has been
 * written over, while the arena is not in use.
 *
 *	owner	its arena pointer is garbage
 *	cycle	the heap says that it came before itself
 *	size	the size is larger than a heap can be
 *	ring	the arena's next pointer leads into nothing
 *	account	the arena says that it has a megabyte more than its heap
 *	chunk	the size of a chunk in use is garbage
 *	cut	a free chunk's link leads nowhere
 *	loop	it leads to the chunk itself
 *	twice	a block was freed twice, so that a fast bin goes round; it says "no fast bins" where
 *		malloc has
 *		none (since 2.43), and it is the cache that does
 *	cache	a cached block's link leads nowhere
 *	top	the size of the main arena's top chunk is text, as a reader sees it that found the
 *		pointer to the top before the process moved it
 */
#include "tracee.h"

#include <gnu/libc-version.h>
#include <malloc.h>
#include <semaphore.h>

#define HEAP_MAX_BYTES ((uintptr_t)64 << 20)

struct heap_info {
	uintptr_t arena, before;
	size_t size, mapped;
};

static sem_t filled, never;
/*
 * In use; free and in the unsorted bin; the newest of a fast bin, if malloc has any, and one of the
 * thread's cache.
 */
static uintptr_t *block, *unsorted, *fast, *cached;

static void *
make_arena(void *arg)
{
	void *small[9]; /* a cache takes seven of them; since 2.43 all */

	unsorted = malloc(5000);
	block = malloc(1000);
	for (int i = 0; i < 9; i++)
		small[i] = malloc(100);
	for (int i = 0; i < 9; i++)
		free(small[i]);
	cached = small[6];
	fast = small[8];
	free(unsorted);
	sem_post(&filled);
	while (sem_wait(&never) != 0)
		;
	return arg;
}

static void
damage(const char *what)
{
	struct heap_info *h = (struct heap_info *)((uintptr_t)block & ~(HEAP_MAX_BYTES - 1));
	/*
	 * struct malloc_state up to next: mutex, flags, have_fastchunks and 10 fastbins to 2.42,
	 * top, last_remainder, 254 bins, 4 words of bit map (malloc/malloc.c, 2.27 to 2.44)
	 */
	bool has_fast_bins = strverscmp(gnu_get_libc_version(), "2.43") < 0;
	uintptr_t before_top = has_fast_bins ? 16 + 10 * 8 : 8;
	uintptr_t *next = (uintptr_t *)(h->arena + before_top + 2 * 8 + 254 * 8 + 16);

	if (!has_fast_bins)
		tracee_say("no fast bins");
	if (strcmp(what, "owner") == 0)
		h->arena = 0x4141414141414141;
	else if (strcmp(what, "cycle") == 0)
		h->before = (uintptr_t)h;
	else if (strcmp(what, "size") == 0)
		h->size = (size_t)1 << 60;
	else if (strcmp(what, "ring") == 0)
		*next = 0x4141414141410000;
	/* behind next_free and attached_threads: system_mem and its peak */
	else if (strcmp(what, "account") == 0)
		next[3] = next[4] += 1 << 20;
	else if (strcmp(what, "chunk") == 0)
		block[-1] = 0x414141;
	else if (strcmp(what, "cut") == 0)
		unsorted[0] = 0;
	else if (strcmp(what, "loop") == 0)
		unsorted[0] = (uintptr_t)(unsorted - 2);
	else if (strcmp(what, "twice") == 0) /* PROTECT_PTR (malloc/malloc.c, since 2.32) */
		fast[0] = (uintptr_t)fast >> 12 ^ (uintptr_t)(fast - 2);
	else if (strcmp(what, "cache") == 0)
		cached[0] = 0x4141414141414141;
	else if (strcmp(what, "top") == 0) {
		void *volatile small = malloc(1000); /* what tracee_use_malloc() gets */
		char *last =
			malloc(100000); /* larger than any free block, so the top is behind it */

		free(small);
		memset(last + malloc_usable_size(last), 'x', sizeof(size_t));
	}
}

int
main(int argc, char **argv)
{
	sem_init(&filled, 0, 0);
	sem_init(&never, 0, 0);
	tracee_thread(make_arena, NULL);
	sem_wait(&filled);
	damage(argc > 1 ? argv[1] : "");
	tracee_ready();
	/* Without exit(), which would free by way of the ring. */
	_exit(tracee_park());
}
