/*
 * resize: at a limit of 100 MB (on-limit=enomem) a block is resized as long as the result fits; the
 * room of the old one is not wanted besides.
 */
#include "count.h"

#define MB 1000000
#define REACH (1 << 26) /* more than any of them, and whole pages */

int
main(void)
{
	char *volatile p, *volatile q, *reserved;

	need_agent();
	p = malloc(60 * MB);
	p[59 * MB] = 5;
	q = realloc(p, 90 * MB);
	ok(q && q[59 * MB] == 5, "60 MB become 90");
	errno = 0;
	block = realloc(q, 110 * MB);
	ok(!block && errno == ENOMEM, "but not 110");
	ok(q[59 * MB] == 5, "and the block is as it was");
	block = malloc(9 * MB);
	ok(block != NULL, "9 MB more fit");
	q = realloc(q, 10 * MB);
	ok(q != NULL, "at the limit a block can be made smaller");
	p = malloc(70 * MB);
	ok(p != NULL, "and its room is there for another");
	free(p);
	p = mmap(NULL, 60 * MB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	p = mremap(p, 60 * MB, 75 * MB, MREMAP_MAYMOVE);
	ok(p != MAP_FAILED, "a mapping of 60 MB becomes one of 75");
	ok(mremap(p, 75 * MB, 95 * MB, MREMAP_MAYMOVE) == MAP_FAILED, "but not of 95");
	ok(mmap(p, 70 * MB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p,
		"a mapping over it needs no more room");
	errno = 0;
	ok(mmap(p, 120 * MB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
				MAP_FAILED &&
			errno == ENOMEM,
		"a larger one over it is refused");
	munmap(p, 75 * MB);
	free(q);
	reserved = mmap(NULL, 2 * REACH, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	p = mmap(reserved, 45 * MB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	q = mmap(reserved + REACH, 45 * MB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		0);
	ok(mremap(p, 45 * MB, 50 * MB, MREMAP_MAYMOVE | MREMAP_FIXED, q) == q,
		"one that is moved over another needs no room but its own");
	munmap(reserved, 2 * REACH);
	free(block);
	ok(memdiag_live_bytes() < MB, "and all is given back");
	return tap_end();
}
