/*
 * late N: N threads in each of several calls that wait, all at the lowest priority on a processor
 * that another thread keeps busy: they stop late. Commands:
 *	ended	answers how many of the calls have ended, by what; none should
 */
#include "tracee.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define WAIT_SECONDS 10000
#define NR_KINDS 4

static long nr_begun;		      /* threads */
static long nr_ended, nr_interrupted; /* calls */
static volatile bool is_over;

static int
wait_once(uintptr_t kind, int epoll)
{
	const struct timespec t = { .tv_sec = WAIT_SECONDS };
	struct epoll_event event;
	sigset_t set;

	switch (kind) {
	case 0:
		return epoll_wait(epoll, &event, 1, -1);
	case 1:
		return epoll_wait(epoll, &event, 1, WAIT_SECONDS * 1000);
	case 2:
		sigemptyset(&set);
		sigaddset(&set, SIGUSR2);
		return sigtimedwait(&set, NULL, &t);
	default:
		return (int)syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, NULL) < 0 ? -1 : 0;
	}
}

static void
be_humble(void)
{
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19);
}

static void *
wait_late(void *arg)
{
	const int epoll = epoll_create1(0);

	if (epoll < 0)
		tracee_fail("epoll_create1");
	be_humble();
	__atomic_add_fetch(&nr_begun, 1, __ATOMIC_RELAXED);
	for (;;) {
		const bool is_interrupted = wait_once((uintptr_t)arg, epoll) < 0 && errno == EINTR;

		__atomic_add_fetch(&nr_ended, 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(&nr_interrupted, is_interrupted, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void *
keep_busy(void *arg)
{
	be_humble();
	while (!is_over)
		;
	return arg;
}

/* On the first processor that we may use. */
static void
stay_on_one(void)
{
	cpu_set_t may, one;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof may, &may) != 0)
		tracee_fail("sched_getaffinity");
	for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
		if (CPU_ISSET(cpu, &may))
			CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof one, &one) != 0)
		tracee_fail("sched_setaffinity");
}

int
main(int argc, char **argv)
{
	const long nr = tracee_number(argc, argv, 1, 10);
	pthread_t thread, busy;
	sigset_t all;
	char line[64];

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	tracee_use_malloc();
	stay_on_one();
	for (long i = 0; i < nr * NR_KINDS; i++)
		if (pthread_create(&thread, NULL, wait_late, (void *)(uintptr_t)(i % NR_KINDS)))
			tracee_fail("pthread_create");
	while (__atomic_load_n(&nr_begun, __ATOMIC_RELAXED) < nr * NR_KINDS)
		usleep(1000);
	if (pthread_create(&busy, NULL, keep_busy, NULL))
		tracee_fail("pthread_create");
	tracee_ready();
	while (tracee_command(line, sizeof line))
		tracee_say("%ld ended, %ld with EINTR",
			__atomic_load_n(&nr_ended, __ATOMIC_RELAXED),
			__atomic_load_n(&nr_interrupted, __ATOMIC_RELAXED));
	is_over = true;
	pthread_join(busy, NULL);
	return tracee_end();
}
