/*
 * chunks: blocks of malloc found in memory by their headers: those with their own mappings, and the
 * pieces of a main arena that brk did not serve alone.
 */
#ifndef MEMDIAG_GLIBC_CHUNKS_H
#define MEMDIAG_GLIBC_CHUNKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/raddr.h"
#include "glibc/arenas.h"

struct os_pages;
struct target;

/* ---- blocks with their own mappings --------------------------------------------------------- */

/* A mapping that malloc made for a single block (sysmalloc_mmap(), malloc/malloc.c). */
struct mmapped_chunk {
	raddr start, end; /* at page boundaries */
};

struct mmapped_chunks {
	struct mmapped_chunk *v;
	size_t nr, room;
};

/*
 * Return the bytes of the mapping whose chunk has the HEADER, two words, LEAD bytes into it; 0 if
 * it is not such a header.
 *
 *	page ->  +--------------------------+
 *		 | 0                        |
 *		 | size of all, with flag 2 |  unchanged if memalign() moves the block further
 *		 | ...                      |
 *	chunk -> | lead: bytes before this  |  since 2.43 bit 0 means huge page
 *		 | size of the rest, flag 2 |  to the end; since 2.43 two words less
 *	block -> +--------------------------+  a multiple of the alignment
 *
 * Without memalign() the lead is 0; on i386 since 2.26 it may be 8.  The first header is out of
 * date after realloc() has made the mapping larger or smaller (sysmalloc_mmap(), _int_memalign(),
 * mremap_chunk(), malloc/malloc.c).
 */
uint64_t mmapped_chunk_bytes(const char *header, uint64_t lead, unsigned int word_bytes);

/*
 * Add to C the adjacent chunks that begin in [START, END), up to the first page that is not a chunk
 * or not present: a mapping of the program itself ends them.  Up to LIMIT, the maximum end of the
 * last chunk, memory must be private, anonymous, writable and without another known use; A are the
 * target's arenas.  Reads one present page for each chunk, and a few more for an aligned one.
 * Returns 0, or -1 with E and C as far as it was filled.
 */
int mmapped_chunks_find(struct mmapped_chunks *c, const struct target *t, struct os_pages *pages,
	const struct arenas *a, raddr start, raddr end, raddr limit, struct err *e);
/*
 * As mmapped_chunks_find(), anywhere in [START, END), even between mappings of the program: every
 * present page is tried, at most *BUDGET_PAGES of them, which is decreased.
 */
int mmapped_chunks_search(struct mmapped_chunks *c, const struct target *t, struct os_pages *pages,
	const struct arenas *a, raddr start, raddr end, raddr limit, uint64_t *budget_pages,
	struct err *e);
void mmapped_chunks_release(struct mmapped_chunks *c);
#define auto_mmapped_chunks __attribute__((cleanup(mmapped_chunks_release)))

#endif
