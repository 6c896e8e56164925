/*
 * locked-heap: all memory is locked; a thread takes 16 MiB from its arena in small blocks and frees
 * them, so that its heap is short again, with the pages still there.  It says "locked none" where
 * it may not lock.
 */
#include "tracee.h"

#include <malloc.h>
#include <sys/mman.h>

#define NR_BLOCKS 16000
#define CACHED 16 /* as many as a bin of a thread's cache holds: 7, since 2.43 16 */
#define BLOCK_BYTES 1000

static pthread_barrier_t barrier;

static void *
use_arena(void *arg)
{
	static void *block[NR_BLOCKS];

	(void)arg;
	/* Since 2.42 the first free() makes the thread's cache: not at the end of the heap. */
	tracee_use_malloc();
	for (size_t i = 0; i < NR_BLOCKS; i++) {
		block[i] = malloc(BLOCK_BYTES);
		memset(block[i], 1, BLOCK_BYTES);
	}
	/* The thread's cache keeps the lowest, or the end of the heap would stay in use. */
	for (size_t i = 0; i < CACHED; i++)
		free(block[i]);
	for (size_t i = NR_BLOCKS; i-- > CACHED;)
		free(block[i]);
	pthread_barrier_wait(&barrier);
	for (;;)
		pause();
	return NULL;
}

int
main(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	if (mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
		tracee_say("locked none");
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 * 1024);
	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&thread, &attr, use_arena, NULL) != 0)
		tracee_fail("pthread_create");
	pthread_barrier_wait(&barrier);
	tracee_ready();
	return tracee_park();
}
