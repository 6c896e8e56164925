/*
 * report: a limit that is only told (on-limit=report) is told when it is passed, and not when it
 * has only been handed out to threads that do not use it.
 */
#include "count.h"

#define NR 8
#define ROOM 20000 /* more than a block is rounded up by */

static pthread_barrier_t barrier;

/* Allocate and free, and keep the grant for the block. */
static void *
have_a_grant(void *arg)
{
	take_and_free(100000);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return arg;
}

static int64_t
granted_and_not_used(void)
{
	struct wire_segment *s = memdiag_agent_segment;
	int64_t bytes = 0;

	for (uint32_t i = 1; i < s->nr_threads; i++)
		bytes += wire_threads(s)[i].granted_bytes - wire_threads(s)[i].live_bytes;
	return bytes;
}

int
main(void)
{
	pthread_t thread[NR];
	void *volatile more;

	need_agent();
	pthread_barrier_init(&barrier, NULL, NR + 1);
	for (int i = 0; i < NR; i++)
		pthread_create(&thread[i], NULL, have_a_grant, NULL);
	pthread_barrier_wait(&barrier);
	ok(granted_and_not_used() > 2 * ROOM, "threads are granted what they do not use: %lld",
		(long long)granted_and_not_used());
	block = malloc(memdiag_limit_bytes() - memdiag_live_bytes() - ROOM);
	ok(!memdiag_agent_segment->is_reported, "what is not used is not over the limit");
	more = malloc(2 * ROOM);
	ok(more && memdiag_agent_segment->is_reported, "what is used is");
	free(more);
	free(block);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < NR; i++)
		pthread_join(thread[i], NULL);
	return tap_end();
}
