/*
 * large NR: as many blocks with mappings of their own, of 1 to NR MiB, half of each written to.
 *	hide	-> maps a page of its own right below them, which the kernel takes for more of the
 *		same
 *	spoil	-> overwrites the header of the lowest of them
 */
#include "tracee.h"

#include <malloc.h>
#include <sys/mman.h>

#define MIB ((size_t)1 << 20)

static char *volatile lowest;

static void
hide(void)
{
	char *page = mmap(lowest - 4096, 4096, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (page == MAP_FAILED)
		tracee_fail("mmap");
	memset(page, 1, 4096);
}

int
main(int argc, char **argv)
{
	long nr = tracee_number(argc, argv, 1, 3);
	char line[64];

	/* Or more is resident than was written to, where huge pages are used always. */
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	for (long i = 1; i <= nr; i++) {
		char *block = malloc((size_t)i * MIB);

		if (!block)
			tracee_fail("malloc");
		memset(block, 0x5a, (size_t)i * MIB / 2);
		if (!lowest || block < lowest)
			lowest = (char *)((uintptr_t)block & ~(uintptr_t)4095);
	}
	tracee_ready();
	while (tracee_command(line, sizeof line)) {
		if (strcmp(line, "hide") == 0)
			hide();
		else
			memset(lowest, 0, 16);
		tracee_say("done");
	}
	return tracee_end();
}
