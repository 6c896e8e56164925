/* manythreads [THREADS]: threads with the smallest stack there is, all waiting. */
#include "tracee.h"

#include <limits.h>
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
	long nr = tracee_number(argc, argv, 1, 1500);
	pthread_attr_t attr;
	pthread_t thread;

	sem_init(&never, 0, 0);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, (size_t)sysconf(_SC_THREAD_STACK_MIN));
	for (long i = 0; i < nr; i++)
		if (pthread_create(&thread, &attr, wait_for_ever, NULL) != 0)
			tracee_fail("pthread_create");
	tracee_ready();
	return tracee_park();
}
