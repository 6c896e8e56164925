/*
 * arena-heaps: arenas that no list of arenas leads to, found by the heaps that they are in.
 */
#ifndef MEMDIAG_GLIBC_ARENA_HEAPS_H
#define MEMDIAG_GLIBC_ARENA_HEAPS_H

#include <stddef.h>
#include <stdint.h>

#include "elf/regions.h"
#include "glibc/arenas.h"

struct os_pages;
struct target;

/* Heaps of malloc that do not belong to any of the arenas. */
struct stray_heaps {
	size_t nr;
	uint64_t bytes;
};

/*
 * Search for heaps at every place where one can begin, and count those that do not belong to A:
 * either the ring is damaged, or they belong to the malloc of a second libc (dlmopen).  Only pages
 * that are present according to PAGES are read.  An arena that is created meanwhile counts as well.
 */
void arenas_find_strays(const struct arenas *a, const struct target *t, const struct regions *m,
	struct os_pages *pages, struct stray_heaps *ret);

#endif
