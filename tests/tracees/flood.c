/*
 * flood [THREADS]: every thread waits on a semaphore and gets SIGUSR1 from a timer of its own,
 * together a thousand a second.  A handled signal must never end a wait here (SA_RESTART).
 *
 *	count	-> signals handled so far
 */
#include "tracee.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static sem_t never;
static atomic_ulong nr_signals;
static long period_ns;

static void
count_signal(int sig)
{
	(void)sig;
	nr_signals++;
}

/* Let a timer signal the calling thread. */
static void
start_timer(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1 };
	struct itimerspec every = { { 0, period_ns }, { 0, period_ns } };
	timer_t timer;

	event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
		timer_settime(timer, 0, &every, NULL) != 0)
		tracee_fail("timer_create");
}

static void *
wait_in_the_rain(void *arg)
{
	void *volatile block = malloc(1000); /* gives the thread an arena */

	start_timer();
	sem_wait(&never);
	free(block);
	tracee_fail("sem_wait");
	return arg;
}

int
main(int argc, char **argv)
{
	struct sigaction a = { .sa_handler = count_signal, .sa_flags = SA_RESTART };
	long nr = tracee_number(argc, argv, 1, 0);
	char line[64];

	period_ns = 1000000 * (nr + 1);
	sem_init(&never, 0, 0);
	sigaction(SIGUSR1, &a, NULL);
	for (long i = 0; i < nr; i++)
		tracee_thread(wait_in_the_rain, NULL);
	start_timer();
	tracee_ready();
	while (tracee_command(line, sizeof line))
		tracee_say("%lu", nr_signals);
	return tracee_end();
}
