/*
 * zero-page: whether this kernel has a common page of zeros.  Some kernels of virtual machines have
 * none: a page that is only read is memory there, and a core file has pages that were never there.
 */
#ifndef MEMDIAG_TESTS_ZERO_PAGE_H
#define MEMDIAG_TESTS_ZERO_PAGE_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* Return the KiB that the kernel counts as resident of our mapping that begins at P; -1 unknown. */
static inline long
resident_kib(const char *p)
{
	char line[512], start[32];
	bool is_there = false;
	long kib = -1;
	FILE *f = fopen("/proc/self/smaps", "r");

	snprintf(start, sizeof start, "%lx-", (unsigned long)p);
	while (f && kib < 0 && fgets(line, sizeof line, f)) {
		is_there |= strncmp(line, start, strlen(start)) == 0;
		if (is_there)
			sscanf(line, "Rss: %ld kB", &kib);
	}
	if (f)
		fclose(f);
	return kib;
}

static inline bool
kernel_has_zero_page(void)
{
	/* The page in the middle alone is a mapping: the others cannot be read. */
	char *p = mmap(NULL, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *page = p == MAP_FAILED ? NULL : p + 4096;
	bool has_one;

	if (!page || mprotect(page, 4096, PROT_READ) < 0)
		return false;
	(void)*(volatile char *)page;
	has_one = resident_kib(page) == 0;
	munmap(p, 3 * 4096);
	return has_one;
}

#endif
