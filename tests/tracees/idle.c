/* idle [THREADS]: threads that wait for a semaphore for ever, besides main. */
#include "tracee.h"

#include <semaphore.h>

static sem_t never;

static void *
wait_for_ever(void *arg)
{
	while (sem_wait(&never) != 0)
		;
	return arg;
}

int
main(int argc, char **argv)
{
	long nr = tracee_number(argc, argv, 1, 0);

	sem_init(&never, 0, 0);
	for (long i = 0; i < nr; i++)
		tracee_thread(wait_for_ever, NULL);
	tracee_ready();
	return tracee_park();
}
