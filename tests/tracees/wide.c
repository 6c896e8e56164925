/*
 * wide: 40,000 chunks in fast bins, 256 KiB apart: an arena of 10 GiB that takes 160 MiB.
 */
#include "tracee.h"

#include <malloc.h>

#define NR 40000

int
main(void)
{
	static void *small[NR];

	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	for (int i = 0; i < NR; i++) {
		void *volatile large = malloc(256 << 10);

		small[i] = malloc(40);
		if (!large || !small[i])
			tracee_fail("malloc");
	}
	for (int i = 0; i < NR; i++)
		free(small[i]);
	tracee_ready();
	return tracee_park();
}
