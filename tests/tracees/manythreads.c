/*
 * manythreads [THREADS [KIB]]: threads with the smallest stack there is, all waiting; with KIB they
 * have more, and have used that much of it once.
 */
#include "tracee.h"

#include <limits.h>
#include <semaphore.h>

static sem_t never, used;
static long once_kib;

/* A frame of 1 KiB and more each time. */
static int __attribute__((noinline)) use_stack(long kib)
{
	volatile char frame[1024] = { 1 };

	return kib ? use_stack(kib - 1) + frame[0] : frame[0];
}

static void *
wait_for_ever(void *arg)
{
	use_stack(once_kib);
	sem_post(&used);
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

	once_kib = tracee_number(argc, argv, 2, 0);
	sem_init(&never, 0, 0);
	sem_init(&used, 0, 0);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, (size_t)(sysconf(_SC_THREAD_STACK_MIN) + once_kib * 1536));
	for (long i = 0; i < nr; i++)
		if (pthread_create(&thread, &attr, wait_for_ever, NULL) != 0)
			tracee_fail("pthread_create");
	for (long i = 0; i < nr; i++)
		sem_wait(&used);
	tracee_ready();
	return tracee_park();
}
