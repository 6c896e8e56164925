/*
 * setuid [US [MIB]]: one thread calls setuid() every US microseconds, as a server does that changes
 * between users; two others wait.  MIB are allocated in small blocks, of which every other one is
 * free.  Every thread takes part in each call by a signal handler, and libc holds the lock of its
 * thread stacks meanwhile (nptl/nptl_setxid.c, __nptl_setxid).
 *
 *	count	-> calls so far
 *	longest	-> how many microseconds the longest call took, since this was last asked
 *	work	-> "done", after a new thread has called setuid(), too
 */
#include "tracee.h"

#include <poll.h>
#include <stdatomic.h>

static atomic_ulong nr_calls, longest_us;

static void *
wait_for_ever(void *arg)
{
	tracee_use_malloc();
	for (;;)
		poll(NULL, 0, -1); /* ends with EINTR each time */
	return arg;
}

static void *
set_once(void *arg)
{
	uint64_t started = tracee_now_ns();
	unsigned long took_us;

	if (setuid(getuid()) != 0)
		tracee_fail("setuid");
	took_us = (tracee_now_ns() - started) / 1000;
	if (took_us > longest_us)
		longest_us = took_us;
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

/* Blocks of two pages and more: each free one is given back by a call of madvise() of its own. */
static void
fill(size_t mib)
{
	const size_t block_bytes = 9000, nr = (mib << 20) / block_bytes;
	char **block = calloc(nr + 1, sizeof *block);

	for (size_t i = 0; i < nr; i++) {
		block[i] = malloc(block_bytes);
		if (!block[i])
			tracee_fail("malloc");
		memset(block[i], 1, block_bytes);
	}
	for (size_t i = 0; i < nr; i += 2)
		free(block[i]);
}

int
main(int argc, char **argv)
{
	pthread_t thread;
	char line[64];

	fill((size_t)tracee_number(argc, argv, 2, 0));
	tracee_thread(wait_for_ever, NULL);
	tracee_thread(wait_for_ever, NULL);
	tracee_thread(set_for_ever, (void *)(intptr_t)tracee_number(argc, argv, 1, 300));
	tracee_ready();
	while (tracee_command(line, sizeof line)) {
		if (strcmp(line, "count") == 0) {
			tracee_say("%lu", nr_calls);
			continue;
		}
		if (strcmp(line, "longest") == 0) {
			tracee_say("%lu", atomic_exchange(&longest_us, 0));
			continue;
		}
		if (pthread_create(&thread, NULL, set_once, NULL) != 0 ||
			pthread_join(thread, NULL) != 0)
			tracee_fail("pthread_create");
		tracee_say("done");
	}
	return tracee_end();
}
