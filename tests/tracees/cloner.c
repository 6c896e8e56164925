/*
 * cloner: one thread makes threads all the time, each of which ends at once.  main waits inside
 * stdio, so that nobody may be borrowed for longer than a moment.
 *
 *	begun	-> "all", when every thread that was made before has begun
 */
#include "tracee.h"

#include <sched.h>
#include <stdatomic.h>

#define MAX_ALIVE 64

/* Threads that were made and have not begun: before the last question, and since. */
static atomic_int nr_alive[2];
static atomic_int now;

static void *
be_born(void *arg)
{
	atomic_int *nr = arg;

	--*nr;
	return NULL;
}

static void *
make_for_ever(void *arg)
{
	for (;;) {
		pthread_t thread;
		atomic_int *nr;

		while (nr_alive[0] + nr_alive[1] >= MAX_ALIVE)
			sched_yield();
		nr = &nr_alive[now];
		++*nr;
		if (pthread_create(&thread, NULL, be_born, nr) != 0)
			tracee_fail("pthread_create");
		pthread_detach(thread);
	}
	return arg;
}

static const char *
await_all(void)
{
	int before = now;

	now = !before;
	while (nr_alive[before])
		sched_yield();
	return "all";
}

int
main(void)
{
	char line[64];

	tracee_thread(make_for_ever, NULL);
	tracee_ready();
	while (tracee_command_in_stdio(line, sizeof line))
		tracee_say("%s", await_all());
	return tracee_end();
}
