/*
 * setuid [US]: one thread calls setuid() every US microseconds, as a server does that changes
 * between users; two others wait.  Every thread takes part in each call by a signal handler, and
 * libc holds the lock of its thread stacks meanwhile (nptl/nptl_setxid.c, __nptl_setxid).
 *
 *	count	-> calls so far
 *	work	-> "done", after a new thread has called setuid(), too
 */
#include "tracee.h"

#include <poll.h>
#include <stdatomic.h>

static atomic_ulong nr_calls;

static void *
wait_for_ever(void *arg)
{
	tracee_use_malloc();
	for (;;)
		poll(NULL, 0, -1);	/* ends with EINTR each time */
	return arg;
}

static void *
set_once(void *arg)
{
	if (setuid(getuid()) != 0)
		tracee_fail("setuid");
	nr_calls++;
	return arg;
}

static void *
set_for_ever(void *arg)
{
	struct timespec pause = { 0, (long)(intptr_t)arg * 1000 };

	for (;;) {
		set_once(NULL);
		nanosleep(&pause, NULL);
	}
	return arg;
}

int
main(int argc, char **argv)
{
	pthread_t thread;
	char line[64];

	tracee_thread(wait_for_ever, NULL);
	tracee_thread(wait_for_ever, NULL);
	tracee_thread(set_for_ever, (void *)(intptr_t)tracee_number(argc, argv, 1, 300));
	tracee_ready();
	while (tracee_command(line, sizeof line)) {
		if (strcmp(line, "count") == 0) {
			tracee_say("%lu", nr_calls);
			continue;
		}
		if (pthread_create(&thread, NULL, set_once, NULL) != 0 ||
			pthread_join(thread, NULL) != 0)
			tracee_fail("pthread_create");
		tracee_say("done");
	}
	return tracee_end();
}
