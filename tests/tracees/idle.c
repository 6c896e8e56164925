/* idle [THREADS]: threads with an arena each that wait for ever, besides main. */
#include "tracee.h"

#include <semaphore.h>

static sem_t ready, never;

static void *
wait_for_ever(void *arg)
{
	void *volatile block = malloc(1000);	/* makes the arena */

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

	sem_init(&ready, 0, 0);
	sem_init(&never, 0, 0);
	for (long i = 0; i < nr; i++)
		tracee_thread(wait_for_ever, NULL);
	for (long i = 0; i < nr; i++)
		sem_wait(&ready);
	tracee_ready();
	return tracee_park();
}
