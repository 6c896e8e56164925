/*
 * chunks NR BYTES [EVERY [KEEP [THREADS]]]: NR blocks of BYTES each in the main arena, all written
 * to, and every EVERY-th of them freed.  With KEEP the list of them is not freed, so that fast bins
 * stay full.  With THREADS each of so many has as much in an arena of its own, and the main arena
 * has nothing.
 */
#include "tracee.h"

#include <malloc.h>
#include <semaphore.h>

static long nr, every, keeps;
static size_t bytes;
static sem_t filled, never;

static void
fill(void)
{
	void **block = malloc((size_t)nr * sizeof *block);

	for (long i = 0; block && i < nr; i++) {
		block[i] = malloc(bytes);
		if (!block[i])
			tracee_fail("malloc");
		memset(block[i], 0x5a, bytes);
	}
	for (long i = 0; block && every && i < nr; i += every)
		free(block[i]);
	if (!keeps)
		free(block);
}

static void *
fill_and_wait(void *arg)
{
	fill();
	sem_post(&filled);
	while (sem_wait(&never) != 0)
		;
	return arg;
}

int
main(int argc, char **argv)
{
	long threads = tracee_number(argc, argv, 5, 0);

	nr = tracee_number(argc, argv, 1, 1000);
	bytes = (size_t)tracee_number(argc, argv, 2, 24);
	every = tracee_number(argc, argv, 3, 0);
	keeps = tracee_number(argc, argv, 4, 0);
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_ARENA_MAX, (int)threads + 1);
	sem_init(&filled, 0, 0);
	sem_init(&never, 0, 0);
	for (long i = 0; i < threads; i++)
		tracee_thread(fill_and_wait, NULL);
	for (long i = 0; i < threads; i++)
		sem_wait(&filled);
	if (!threads)
		fill();
	tracee_ready();
	return tracee_park();
}
