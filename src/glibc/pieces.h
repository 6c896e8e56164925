/*
 * pieces: the memory of the main arena: the pieces that sbrk() gave it, and the gaps between them.
 */
#ifndef MEMDIAG_GLIBC_PIECES_H
#define MEMDIAG_GLIBC_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/raddr.h"
#include "elf/regions.h"
#include "glibc/arenas.h"

struct os_pages;

/* A search for the pieces of one target's main arena. */
struct piece_search;
struct target;

/*
 * ---- pieces: parts of a main arena that brk did not serve alone ---------------------------------
 */

/*
 * A run of chunks from the first one to the fence posts or the end of top.  malloc never gives up a
 * piece; only the one with top can grow or shrink, if it is brk's.
 */
struct main_piece {
	raddr start, end;
};

struct main_pieces {
	struct main_piece *v; /* sorted by start */
	size_t nr, room;
};

/*
 * Find the part of brk's memory, which begins at BRK_START, that is malloc's: up to top, or up to
 * the end of brk if the arena is in pieces.  The memory before it, and after it up to the end of
 * [heap], is the program's own.  *RET_END is {0} if unknown.
 */
void main_heap_find(const struct target *t, struct os_pages *pages, const struct arenas *a,
	raddr brk_start, raddr *ret_start, raddr *ret_end);

/*
 * Return whether the main arena of A claims that brk serves all of it; also true if it cannot be
 * read.
 */
bool main_arena_is_contiguous(const struct target *t, const struct arenas *a);

/*
 * Find the pieces of the main arena of A, even if it claims to be contiguous: from BRK on, the
 * start of brk's memory ({0}: unknown), and in the mappings M that can be malloc's, until
 * WANT_BYTES are found.  Reads only present pages, at most 4 GiB.  P must be zeroed or released
 * before.  Stops no thread; only the sum shows whether all pieces were found.  0, or -1 with E and
 * P released.
 */
int main_pieces_find(struct main_pieces *p, const struct target *t, const struct regions *m,
	struct os_pages *pages, const struct arenas *a, raddr brk, uint64_t want_bytes,
	struct err *e);
void main_pieces_release(struct main_pieces *p);
#define auto_main_pieces __attribute__((cleanup(main_pieces_release)))

/*
 * Find the memory that others took from brk in [START, END), which is the result of
 * main_heap_find() for an arena that brk alone serves: malloc continues after it (sysmalloc(),
 * malloc/malloc.c) and counts it as its own.  Reads only present pages.  May miss a gap of less
 * than 1/32 of a heap that is larger than 4 MiB, gaps after the first 32 MiB that have to be read,
 * and gaps where the target is changing memory.  RET must be zeroed or released before.  0, or -1
 * with E and RET released.
 */
int main_gaps_find(struct main_pieces *ret, const struct target *t, struct os_pages *pages,
	const struct arenas *a, raddr start, raddr end, struct err *e);

/*
 * Start a search.  NULL if A's main arena is contiguous, as most are, or if its state is unknown or
 * unreadable.
 */
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
 * Search in [START, END) from now on, with the conditions of mmapped_chunks_find().  0, or -1 with
 * E.
 */
int piece_search_in(struct piece_search *p, raddr start, raddr end, struct err *e);

/*
 * Find the first piece at or after AT, a page, across any mappings of the program.  Reads only
 * present pages, and at most 4 GiB per search: pieces beyond that are not found.
 */
bool piece_search_next(struct piece_search *p, raddr at, raddr *ret_start, raddr *ret_end);

#endif
