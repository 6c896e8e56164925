/*
 * idle [THREADS [BYTES]]: threads with an arena each that wait for ever, besides main.  Each has
 * taken BYTES, in blocks of which it has freed every third.
 */
#include "tracee.h"

#include <semaphore.h>

#define BLOCK_BYTES 50000

static sem_t ready, never;
static long bytes;

static void
fill_heaps(void)
{
	void *volatile block = NULL;

	for (long nr = 0; nr < bytes / BLOCK_BYTES; nr++) {
		void *before = block;

		block = malloc(BLOCK_BYTES);
		if (nr % 3 == 0)
			free(before);
	}
}

static void *
wait_for_ever(void *arg)
{
	void *volatile block = malloc(1000); /* makes the arena */

	fill_heaps();
	sem_post(&ready);
	while (sem_wait(&never) != 0)
		;
	free(block);
	return arg;
}

int
main(int argc, char **argv)
{
	long nr = tracee_number(argc, argv, 1, 0);

	bytes = tracee_number(argc, argv, 2, 0);
	sem_init(&ready, 0, 0);
	sem_init(&never, 0, 0);
	for (long i = 0; i < nr; i++)
		tracee_thread(wait_for_ever, NULL);
	for (long i = 0; i < nr; i++)
		sem_wait(&ready);
	tracee_ready();
	return tracee_park();
}
