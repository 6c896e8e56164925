/*
 * walk-state: the state of a walk over a segment, for walk.c and walk-ends.c.
 */
#ifndef MEMDIAG_HEAP_WALK_STATE_H
#define MEMDIAG_HEAP_WALK_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/heap-priv.h"
#include "heap/heap.h"
#include "heap/memory.h"
#include "heap/pages-priv.h"
#include "heap/scan.h"
#include "heap/visit.h"
#include "heap/walk-ends.h"

/* The links of a free chunk; zeroes if their page is not present. */
struct walk_links {
	uint64_t fd, bk;
};

struct heap_walk {
	struct scan *s;
	struct reader *r;
	const struct heap_visitor *visitor; /* NULL: the contents of chunks are not read */
	struct heap_arena *arena;
	struct heap_segment *seg;
	size_t seg_nr;
	struct window w;
	size_t nr_reads; /* of the window, when the clock was read last */
	struct page_ledger ledger;
	size_t at_mark, at_cached; /* the next mark, and the next cached chunk */
	uint64_t cached;	   /* the address of that chunk; UINT64_MAX: no more */
	uint64_t huge_page;	   /* page size, if its pages are from the hugetlb pool */
	bool has_map;		   /* some chunks are in fast bins or the unsorted bin */
	unsigned int word;	   /* bytes */
	uint64_t odd_bits;	   /* not in the size of any chunk */
	uint64_t min_bytes;	   /* of a chunk */
	uint64_t end;		   /* of the segment */
	uint64_t reach;		   /* a chunk that ends here or before is near */
	uint64_t addr, raw, bytes; /* the present chunk; RAW includes its flags */
	struct walk_links links;   /* of the present chunk, if it is not near */
	/* a piece of free and fast chunks before it */
	uint64_t piece, piece_bytes, piece_free_bytes;
	/* the free chunk whose bin was determined last */
	struct {
		uint64_t bytes;
		unsigned int bin;
	} last;
	/* sums of this segment; those of all chunks follow from the arena's sums by size */
	struct heap_sum cached_sum, fast_sum;
	uint64_t gap_bytes; /* not chunks, or unknown */
	struct link_sums link_sums;
};

/* ---- pieces of free chunks, which malloc_trim(0) sees as one ---- */

static inline void
walk_end_piece(struct heap_walk *w)
{
	enum heap_part part = w->piece_free_bytes ? PART_FREE : PART_CACHED;

	if (w->piece_bytes > w->r->page_bytes)
		walk_end_large_piece(w, part);
	else if (w->piece_bytes)
		page_ledger_add(&w->ledger, part, w->piece_bytes);
	w->piece_bytes = w->piece_free_bytes = 0;
}

static inline void
walk_add_to_piece(struct heap_walk *w, uint64_t free_bytes)
{
	if (!w->piece_bytes)
		w->piece = w->addr;
	w->piece_bytes += w->bytes;
	w->piece_free_bytes += free_bytes;
}

/* ---- the visitor ---- */

/* Report the BYTES at ADDR to the visitor, if there is one. */
static inline void
walk_visit_chunk(const struct heap_walk *w, uint64_t addr, uint64_t bytes, enum heap_use use)
{
	if (w->visitor)
		w->visitor->chunk(addr, bytes, use, w->visitor->arg);
}

#endif
