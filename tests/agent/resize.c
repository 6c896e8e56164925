/*
 * resize: at a limit of 100 MB (on-limit=enomem) a block is resized as long as the result fits; the
 * room of the old one is not wanted besides.
 */
#include "count.h"

#define MB 1000000

int
main(void)
{
	char *volatile p, *volatile q;

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
	munmap(p, 75 * MB);
	free(q);
	free(block);
	ok(memdiag_live_bytes() < MB, "and all is given back");
	return tap_end();
}
