/*
 * shrink [THREADS]: threads that fill heaps of 64 MiB and give them back, again and again: whole
 * heaps come and go, tops and brk go up and down.
 */
#include "tracee.h"

#include <malloc.h>

#define BLOCK ((size_t)100000)
#define NR_BLOCKS 900 /* more than a heap holds */

static void *
grow_and_shrink(void *arg)
{
	void **block = calloc(NR_BLOCKS, sizeof *block);

	for (;;) {
		for (int i = 0; i < NR_BLOCKS; i++) {
			block[i] = malloc(BLOCK);
			if (!block[i])
				tracee_fail("malloc");
			memset(block[i], 1, 100);
		}
		for (int i = NR_BLOCKS; i-- > 0;)
			free(block[i]);
	}
	return arg;
}

int
main(int argc, char **argv)
{
	long nr = tracee_number(argc, argv, 1, 2);

	for (long i = 0; i < nr; i++)
		tracee_thread(grow_and_shrink, NULL);
	tracee_ready();
	return tracee_park();
}
