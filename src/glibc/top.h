/*
 * top: the top chunk of an arena: the free memory at its end, which malloc keeps for later blocks.
 */
#ifndef MEMDIAG_GLIBC_TOP_H
#define MEMDIAG_GLIBC_TOP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/raddr.h"
#include "glibc/arenas.h"

struct os_pages;
struct target;

/* [start, end), with the chunk's header. */
struct top_chunk {
	raddr start, end;
};

/* Return the address of the pointer to the top of arena NR of A (malloc_state.top). */
raddr top_chunk_at(const struct arenas *a, size_t nr);

/*
 * Read the top of arena NR of A into RET.  Reads only present pages, and stops no thread.  False if
 * it cannot be read, has no size, or moved meanwhile.  The caller proves that it is in the memory
 * of that arena: the top of an unused one is its own empty bin (initial_top(), malloc/malloc.c).
 */
bool top_chunk_read(struct top_chunk *ret, const struct target *t, struct os_pages *pages,
	const struct arenas *a, size_t nr);

#endif
