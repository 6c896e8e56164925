/*
 * trim: what malloc_trim() would give back of a heap.
 */
#ifndef MEMDIAG_HEAP_TRIM_H
#define MEMDIAG_HEAP_TRIM_H

#include "base/raddr.h"
#include "elf/regions.h"
#include "glibc/layout.h"
#include "heap/heap.h"

struct target;

/*
 * Get the whole pages of the top chunk of the thread arena at ARENA of T, by its present header;
 * they stay free while no thread takes the arena's lock.  Returns 0, or -1 if the top has no whole
 * page.
 */
int heap_top_pages(const struct target *t, const struct regions *m, const struct malloc_layout *l,
	raddr arena, struct heap_range *ret);

#endif
