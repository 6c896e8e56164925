/*
 * slack: far from a limit (limit=1000000000000) a thread of several takes and frees small blocks
 * without asking for each, also in a program that has only little.
 */
#include "count.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>

static const struct wire_thread *
own_place(void)
{
	const uint32_t tid = (uint32_t)syscall(SYS_gettid);

	for (uint32_t i = 1; i < memdiag_agent_segment->nr_threads; i++)
		if (wire_threads(memdiag_agent_segment)[i].tid == tid)
			return &wire_threads(memdiag_agent_segment)[i];
	return NULL;
}

static void *
work(void *arg)
{
	const struct wire_thread *place;

	for (int i = 0; i < 1000; i++)
		take_and_free(64);
	place = own_place();
	ok(place && place->granted_bytes > place->live_bytes + 1000,
		"the thread is granted more than it has");
	ok(place && place->floor_bytes < place->live_bytes, "and keeps what it frees");
	return arg;
}

int
main(void)
{
	pthread_t thread;

	need_agent();
	take_and_free(64); /* this thread has a place as well */
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0) {
		puts("1..0 # SKIP there is no membarrier()");
		return 0;
	}
	pthread_create(&thread, NULL, work, NULL);
	pthread_join(thread, NULL);
	return tap_end();
}
