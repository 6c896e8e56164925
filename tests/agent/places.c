/*
 * places: threads that run one after the other while calls are noted.  What the agent keeps for a
 * thread belongs to its place, so a thread has to take the place of one that has ended.
 */
#include "count.h"

#define NR 60
#define STACK_BYTES ((size_t)256 << 10)

static void *
work(void *arg)
{
	for (size_t i = 0; i < 100; i++)
		take_and_free(500 + i);
	return arg;
}

/* NR threads, on STACKS one after the other or, if that is NULL, on what libc has. */
static void
run(char *stacks)
{
	pthread_attr_t attr;
	pthread_t thread;

	for (size_t i = 0; i < NR; i++) {
		pthread_attr_init(&attr);
		if (stacks)
			pthread_attr_setstack(&attr, stacks + i * STACK_BYTES, STACK_BYTES);
		if (pthread_create(&thread, &attr, work, NULL) != 0)
			exit(99);
		pthread_join(thread, NULL);
		pthread_attr_destroy(&attr);
	}
}

int
main(void)
{
	const struct wire_segment *s = memdiag_agent_segment;
	char *stacks = mmap(
		NULL, NR * STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	need_agent();
	if (stacks == MAP_FAILED)
		return 99;
	run(NULL);
	ok(s->nr_threads < 8, "threads on one stack have one place: %u", s->nr_threads);
	run(stacks);
	ok(s->nr_threads < 32, "threads on other stacks have few places: %u", s->nr_threads);
	return tap_end();
}
