/*
 * many-stacks: a program that maps memory from as many places as it is told.
 *
 *	map N	-> done, after a mmap() from each of N stacks, N at most 65536
 */
#include "tracee.h"

#include <sys/mman.h>

#define DEPTH 16

/* Two call sites a frame, so each value of BITS has a stack of its own. */
static __attribute__((noinline)) void *
map_below(unsigned int bits, int depth)
{
	void *got;

	/* What comes after the two calls differs, so that they stay two, and are no tail calls. */
	if (!depth) {
		got = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	} else if (bits & 1) {
		got = map_below(bits >> 1, depth - 1);
		__asm__ volatile("/* odd */" : "+r"(got) : : "memory");
	} else {
		got = map_below(bits >> 1, depth - 1);
		__asm__ volatile("/* even */" : "+r"(got) : : "memory");
	}
	return got;
}

int
main(void)
{
	char line[64];
	unsigned int nr;

	tracee_ready();
	while (tracee_command(line, sizeof line)) {
		if (sscanf(line, "map %u", &nr) != 1) {
			tracee_say("what is '%s'?", line);
			continue;
		}
		for (unsigned int i = 0; i < nr; i++)
			if (map_below(i, DEPTH) == MAP_FAILED)
				tracee_fail("mmap");
		tracee_say("done");
	}
	return tracee_end();
}
