/*
 * machine ROUNDS: what a virtual machine may hide: how long the first access to each page of a
 * mapping takes, 0.3 s after the last one, and the next access.  A host that watches which pages
 * are used makes each first access wait.  Prints nanoseconds, a line for each round: "FIRST NEXT".
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NR_PAGES 4096
#define PAGE_BYTES 4096

static double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
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
main(int argc, char **argv)
{
	volatile char *page = mmap(NULL, (size_t)NR_PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	touch(page);
	for (int rounds = argc > 1 ? atoi(argv[1]) : 1; rounds > 0; rounds--) {
		double first_ns;

		usleep(300000);
		first_ns = touch(page);
		printf("%.0f %.0f\n", first_ns, touch(page));
	}
	return 0;
}
