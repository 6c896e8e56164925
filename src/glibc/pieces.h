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
struct piece_search;
struct target;

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
