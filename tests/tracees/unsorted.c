/*
 * unsorted ORDER NR: NR free chunks of several sizes in the unsorted bin, as they were freed:
 *	up      in the order of addresses
 *	down    the other way
 *	pairs   up, but each second one before the first
 *	turns   in stretches of a thousand, up and down by turns
 *	sorted  up, but every tenth is in the bin of its size already
 *	random  in any order
 * Between any two of them is a block in use.
 */
#include "tracee.h"

#include <malloc.h>
#include <sys/mman.h>

#define STRETCH 1000

static void **block;
static size_t nr;

/* Which one to free as the I-th. */
static size_t
place(const char *order, size_t i)
{
	size_t stretch = i / STRETCH, last = (stretch + 1) * STRETCH - 1;

	if (strcmp(order, "down") == 0)
		return nr - 1 - i;
	if (strcmp(order, "pairs") == 0)
		return (i ^ 1) < nr ? i ^ 1 : i;
	if (strcmp(order, "turns") == 0 && last < nr && stretch % 2)
		return last - i % STRETCH;
	/* A generator modulo a prime goes through all of them. */
	if (strcmp(order, "random") == 0)
		return i * 7919 % nr;
	return i;
}

int
main(int argc, char **argv)
{
	const char *order = argc > 1 ? argv[1] : "up";
	bool sorts = strcmp(order, "sorted") == 0;
	size_t bytes;

	nr = (size_t)tracee_number(argc, argv, 2, 10007);
	bytes = 2 * nr * sizeof *block;
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (block == MAP_FAILED)
		tracee_fail("mmap");
	/* Larger than what fast bins hold; caches soon have seven of each. */
	for (size_t i = 0; i < 2 * nr; i++)
		block[i] = malloc(136 + 16 * (i % 5));
	for (size_t i = 0; sorts && i < nr; i += 10)
		free(block[2 * i]);
	/* That puts what is in the unsorted bin into the others. */
	if (sorts && !malloc(64 << 20))
		tracee_fail("malloc");
	for (size_t i = 0; i < nr; i++)
		if (!sorts || i % 10)
			free(block[2 * place(order, i)]);
	tracee_ready();
	return tracee_park();
}
