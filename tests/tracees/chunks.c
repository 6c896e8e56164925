/*
 * chunks NR BYTES [EVERY [KEEP]]: NR blocks of BYTES each in the main arena, all written to, and every
 * EVERY-th of them freed.  With KEEP the list of them is not freed, so that fast bins stay full.
 */
#include "tracee.h"

#include <malloc.h>

int
main(int argc, char **argv)
{
	long nr = tracee_number(argc, argv, 1, 1000), every = tracee_number(argc, argv, 3, 0);
	size_t bytes = (size_t)tracee_number(argc, argv, 2, 24);
	void **block;

	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	block = malloc((size_t)nr * sizeof *block);
	for (long i = 0; block && i < nr; i++) {
		block[i] = malloc(bytes);
		if (!block[i])
			tracee_fail("malloc");
		memset(block[i], 0x5a, bytes);
	}
	for (long i = 0; block && every && i < nr; i += every)
		free(block[i]);
	if (!tracee_number(argc, argv, 4, 0))
		free(block);
	tracee_ready();
	return tracee_park();
}
