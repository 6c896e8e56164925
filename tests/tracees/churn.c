/*
 * churn [THREADS]: threads that allocate, check and free as fast as they can while main waits.
 *
 *	count	-> blocks checked so far
 */
#include "tracee.h"

#include <sched.h>
#include <stdatomic.h>

#define NR_BLOCKS 512

static atomic_ulong nr_checked;
static atomic_long nr_begun; /* threads that have their arena by now */

static void
check_block(const unsigned char *block, size_t size, unsigned char mark)
{
	for (size_t i = 0; i < size; i += 64)
		if (block[i] != mark)
			tracee_fail("a block has changed");
	nr_checked++;
}

static void *
churn(void *arg)
{
	struct {
		unsigned char *at;
		size_t size;
	} block[NR_BLOCKS] = { 0 };
	unsigned char mark = (unsigned char)(uintptr_t)arg;
	uint32_t random = mark;

	tracee_use_malloc();
	nr_begun++;
	for (;;) {
		size_t i;

		random = random * 1664525 + 1013904223;
		i = random >> 8 & (NR_BLOCKS - 1);
		if (block[i].at)
			check_block(block[i].at, block[i].size, mark);
		free(block[i].at);
		block[i].size = 1 + (random >> 17) % 5000;
		block[i].at = malloc(block[i].size);
		if (!block[i].at)
			tracee_fail("malloc");
		memset(block[i].at, mark, block[i].size);
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	long nr = tracee_number(argc, argv, 1, 8);
	char line[64];

	for (long i = 0; i < nr; i++)
		tracee_thread(churn, (void *)(uintptr_t)(i + 1));
	while (nr_begun < nr)
		sched_yield();
	tracee_ready();
	while (tracee_command(line, sizeof line))
		tracee_say("%lu", nr_checked);
	return tracee_end();
}
