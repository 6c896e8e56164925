/*
 * mute [THREADS]: threads that never use malloc wait without a timeout; main, which has used it,
 * waits with one.
 */
#include "tracee.h"

#include <poll.h>
#include <semaphore.h>

static sem_t is_waiting;

static void *
say_waiting(void *arg)
{
	sem_post(&is_waiting);
	return tracee_wait_for_ever(arg);
}

int
main(int argc, char **argv)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	long nr = tracee_number(argc, argv, 1, 3);

	tracee_use_malloc();
	sem_init(&is_waiting, 0, 0);
	for (long i = 0; i < nr; i++)
		tracee_thread(say_waiting, NULL);
	for (long i = 0; i < nr; i++)
		sem_wait(&is_waiting);
	tracee_ready();
	while (poll(&in, 1, 60000) == 0)
		;
	return tracee_park();
}
