/*
 * chunks: blocks of malloc's found in memory by their headers: those with mappings of their own,
 * and the pieces of a main arena that brk did not serve alone.
 */
#ifndef MEMDIAG_GLIBC_CHUNKS_H
#define MEMDIAG_GLIBC_CHUNKS_H

#include "glibc/arenas.h"

struct os_pages;
struct target;

/* ---- blocks with mappings of their own ------------------------------------------------------- */

/* A mapping of malloc's for a single block (sysmalloc_mmap(), malloc/malloc.c). */
struct mmapped_chunk {
	raddr start, end; /* pages */
};

struct mmapped_chunks {
	struct mmapped_chunk *v;
	size_t nr, room;
};

/*
 * The bytes of the mapping whose chunk has the HEADER, two words, LEAD bytes into it; 0 if it is no
 * such header.
 *
 *	page ->  +--------------------------+
 *		 | 0                        |
 *		 | size of all, with flag 2 |  stays as it was when memalign() goes on behind it
 *		 | ...                      |
 *	chunk -> | lead: bytes before this  |  since 2.43 bit 0 says huge page
 *		 | size of the rest, flag 2 |  to the end; since 2.43 two words less
 *	block -> +--------------------------+  a multiple of the alignment
 *
 * Without memalign() the lead is 0, on i386 since 2.26 it may be 8.  The first header is out of
 * date once realloc() has made the mapping larger or smaller (sysmalloc_mmap(), _int_memalign(),
 * mremap_chunk(), malloc/malloc.c).
 */
uint64_t mmapped_chunk_bytes(const char *header, uint64_t lead, unsigned int word_bytes);

/*
 * Add to C the chunks that begin in [START, END), one behind the other, up to the first page that
 * is no chunk or not present: a mapping of the program itself there ends them.  Up to LIMIT, where
 * the last may end, memory must be private, anonymous, writable and without another known use; A
 * are the target's arenas.  Reads one present page for each, and for an aligned one a few more.
 * Returns 0, or -1 with E and C as far as it was filled.
 */
int mmapped_chunks_find(struct mmapped_chunks *c, const struct target *t, struct os_pages *pages,
	const struct arenas *a, raddr start, raddr end, raddr limit, struct err *e);
/*
 * The same, wherever in [START, END) they are, whatever the program has mapped in between: every
 * present page is tried, *BUDGET_PAGES of them at most, which becomes less.
 */
int mmapped_chunks_search(struct mmapped_chunks *c, const struct target *t, struct os_pages *pages,
	const struct arenas *a, raddr start, raddr end, raddr limit, uint64_t *budget_pages,
	struct err *e);
void mmapped_chunks_release(struct mmapped_chunks *c);
#define auto_mmapped_chunks __attribute__((cleanup(mmapped_chunks_release)))

/* ---- pieces: the main arena, where brk did not serve all of it ------------------------------- */

/*
 * A run of chunks from the first one to the fence posts or the end of top.  Once malloc has one it
 * keeps it; only the one with top can grow or shrink, if it is brk's.
 */
struct main_piece {
	raddr start, end;
};

struct main_pieces {
	struct main_piece *v; /* sorted by start */
	size_t nr, room;
};

/*
 * Which part of brk's memory, that begins at BRK_START, is malloc's: up to top, or up to where brk
 * ends if the arena lies in pieces.  What is in front of it or follows up to the end of [heap] is
 * the program's own.  *RET_END is {0} if it is not known.
 */
void main_heap_find(const struct target *t, struct os_pages *pages, const struct arenas *a,
	raddr brk_start, raddr *ret_start, raddr *ret_end);

/* Whether the main arena of A says that all of it is brk's; true as well if it cannot be read. */
bool main_arena_is_contiguous(const struct target *t, const struct arenas *a);

/*
 * Find the pieces of the main arena of A, even if it claims to be contiguous: from BRK on, the
 * start of brk's memory ({0}: unknown), and in the mappings M that can be malloc's, until there are
 * WANT_BYTES.  Only present pages are read, 4 GiB of them at most.  P must be zeroed or released
 * before.  Stops no thread; only the sum shows whether all pieces were found. 0, or -1 with E and P
 * released.
 */
int main_pieces_find(struct main_pieces *p, const struct target *t, const struct regions *m,
	struct os_pages *pages, const struct arenas *a, raddr brk, uint64_t want_bytes,
	struct err *e);
void main_pieces_release(struct main_pieces *p);
#define auto_main_pieces __attribute__((cleanup(main_pieces_release)))

/*
 * Find what others took from brk in [START, END), which is what main_heap_find() says of an arena
 * that brk alone serves: malloc went on behind it (sysmalloc(), malloc/malloc.c) and counts it as
 * its own.  Only present pages are read.  A gap of less than 1/32 of a heap that is larger than 4
 * MiB may be missed; so are gaps behind the first 32 MiB that have to be read, and those where the
 * target is at work.  RET must be zeroed or released before. 0, or -1 with E and RET released.
 */
int main_gaps_find(struct main_pieces *ret, const struct target *t, struct os_pages *pages,
	const struct arenas *a, raddr start, raddr end, struct err *e);

/* ---- pieces: what mmap() gave the main arena because brk did not ---- */

/* Looks for the pieces of one target's main arena. */
struct piece_search;

/* NULL if A's main arena is contiguous, as most are, or if its state is unknown or unreadable. */
struct piece_search *piece_search_new(
	const struct target *t, struct os_pages *pages, const struct arenas *a);
void piece_search_free(struct piece_search *p);
static inline void
piece_search_cleanup(struct piece_search **p)
{
	piece_search_free(*p);
}
#define auto_piece_search __attribute__((cleanup(piece_search_cleanup)))

/*
 * Look at [START, END) from now on, which must be as for mmapped_chunks_find().  0, or -1 with E.
 */
int piece_search_in(struct piece_search *p, raddr start, raddr end, struct err *e);

/*
 * Find the first piece at AT, a page, or behind it, across any mappings of the program. Only
 * present pages are read, and no more than 4 GiB by one search: pieces beyond that are not found.
 */
bool piece_search_next(struct piece_search *p, raddr at, raddr *ret_start, raddr *ret_end);

#endif
