/*
 * cloner: one thread makes threads all the time, each of which ends at once.  main waits inside
 * stdio, so that nobody may be borrowed for longer than a moment.
 *
 *	longest	-> the longest time from pthread_create() to the thread's first line, in milliseconds
 */
#include "tracee.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>

#define MAX_ALIVE 64

static atomic_int nr_alive;
static atomic_ullong longest_ns;

static void *
be_born(void *arg)
{
	uint64_t *made_ns = arg, ns = tracee_now_ns() - *made_ns;
	unsigned long long before = longest_ns;

	while (ns > before && !atomic_compare_exchange_weak(&longest_ns, &before, ns))
		;
	free(made_ns);
	nr_alive--;
	return NULL;
}

static void *
make_for_ever(void *arg)
{
	for (;;) {
		uint64_t *made_ns = malloc(sizeof *made_ns);
		pthread_t thread;

		while (nr_alive >= MAX_ALIVE)
			sched_yield();
		nr_alive++;
		*made_ns = tracee_now_ns();
		if (pthread_create(&thread, NULL, be_born, made_ns) != 0)
			tracee_fail("pthread_create");
		pthread_detach(thread);
	}
	return arg;
}

int
main(void)
{
	char line[64];

	tracee_thread(make_for_ever, NULL);
	tracee_ready();
	while (tracee_command_in_stdio(line, sizeof line))
		tracee_say("%llu", longest_ns / 1000000);
	return tracee_end();
}
