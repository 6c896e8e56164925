/*
 * mapped KIND: NR blocks for each of which malloc has made a mapping.
 *	moved     aligned to several pages, then resized: mremap() has moved some of them
 *	often     the same, 300 times each: the account of 2.43 is more than a page too high
 *	gone      the same, and all are given back
 *	filled    the same, with M_PERTURB set: malloc has written all of the memory
 *	locked    some of their pages are locked, so that the kernel has several mappings for one
 * The program's own mappings lie between them.
 */
#include "tracee.h"

#include <malloc.h>
#include <sys/mman.h>

#define PAGE 4096UL
#define NR 24

static void
map_own(void)
{
	char *p = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		tracee_fail("mmap");
	memset(p, 0x5a, 3 * PAGE);
}

/* Where the mapping of a block ends, which is that block's to its last byte. */
static uintptr_t
mapping_end(void *p)
{
	return (uintptr_t)p + malloc_usable_size(p);
}

/*
 * One that is larger or smaller than its first header says.  What a smaller one has left is the
 * program's.
 */
static void *
resize(int i)
{
	void *p = aligned_alloc((2 * PAGE) << i % 4, 60 * PAGE), *resized;
	volatile uintptr_t old_end; /* gcc would add it up behind realloc(), and warn */
	uintptr_t end;

	if (!p)
		tracee_fail("aligned_alloc");
	old_end = mapping_end(p);
	resized = realloc(p, (i % 2 ? 40 : 400 + (size_t)i) * PAGE);
	if (!resized)
		tracee_fail("realloc");
	memset(resized, 1, 40 * PAGE);
	end = mapping_end(resized);
	if (i % 2)
		mmap((void *)end, old_end - end, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	return resized;
}

/* The block P made larger and smaller again and again. */
static void *
resize_often(void *p)
{
	for (int i = 0; i < 300; i++) {
		p = realloc(p, (i % 2 ? 45 : 450) * PAGE);
		if (!p)
			tracee_fail("realloc");
	}
	return p;
}

static void
lock(int i)
{
	char *p = malloc((60 + (size_t)i) * PAGE);
	char *page = (char *)(((uintptr_t)p & -PAGE) + (size_t)(i % 7 + 1) * PAGE);

	if (!p)
		tracee_fail("malloc");
	memset(p, 1, 60 * PAGE);
	if (mlock(page, 2 * PAGE) < 0)
		tracee_fail("mlock");
}

int
main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "moved";
	bool is_gone = strcmp(kind, "gone") == 0, is_often = is_gone || strcmp(kind, "often") == 0;
	void *block[NR] = { NULL };

	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	if (strcmp(kind, "filled") == 0)
		mallopt(M_PERTURB, 0x5a);
	for (int i = 0; i < NR; i++) {
		if (strcmp(kind, "locked") == 0)
			lock(i);
		else
			block[i] = resize(i);
		if (is_often)
			block[i] = resize_often(block[i]);
		if (i % 5 == 0)
			map_own();
	}
	for (int i = 0; i < NR && is_gone; i++)
		free(block[i]);
	tracee_ready();
	return tracee_park();
}
