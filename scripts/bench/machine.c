/*
 * machine: what a virtual machine may hide: how long the first access to each page of a mapping
 * takes, 0.3 s after the last one, and the next access.  A host that watches which pages are used
 * makes each first access wait.  Prints nanoseconds: "FIRST NEXT", medians of 9 rounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NR_PAGES 4096
#define PAGE_BYTES 4096
#define NR_ROUNDS 9

static double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int
compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double
median(double ns[NR_ROUNDS])
{
	qsort(ns, NR_ROUNDS, sizeof *ns, compare);
	return ns[NR_ROUNDS / 2];
}

/* Add 1 to a byte of each page.  Returns how long that takes, for one page. */
static double
touch(volatile char *page)
{
	const double start_ns = now_ns();

	for (int i = 0; i < NR_PAGES; i++)
		page[(size_t)i * PAGE_BYTES]++;
	return (now_ns() - start_ns) / NR_PAGES;
}

int
main(void)
{
	volatile char *page = mmap(NULL, (size_t)NR_PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	double first_ns[NR_ROUNDS], next_ns[NR_ROUNDS];

	if (page == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	touch(page);
	for (int round = 0; round < NR_ROUNDS; round++) {
		usleep(300000);
		first_ns[round] = touch(page);
		next_ns[round] = touch(page);
	}
	printf("%.0f %.0f\n", median(first_ns), median(next_ns));
	return 0;
}
