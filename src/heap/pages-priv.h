/*
 * pages-priv: what other files of heap/ use of pages.c.
 */
#ifndef MEMDIAG_HEAP_PAGES_PRIV_H
#define MEMDIAG_HEAP_PAGES_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap/heap-priv.h"
#include "heap/heap.h"

/* ---- pages.c --------------------------------------------------------------------------------- */

enum heap_part {
	PART_USED,
	PART_OWN,    /* malloc's own, or another owner's */
	PART_CACHED, /* in a tcache, or in a fast bin with no free neighbour */
	PART_FREE,
	PART_TOP,
	NR_PARTS,
};

/* The use of a segment's pages, reported from its first byte to its last. */
struct page_ledger {
	struct heap_arena *arena;
	const struct page_runs *runs;
	size_t at_run;
	uint64_t page_bytes;
	bool is_hugetlb; /* RSS does not count its pages */
	uint64_t page;	 /* the one that is being filled */
	uint64_t filled; /* bytes of it */
	uint64_t part[NR_PARTS];
};

/* Begin at START; the bytes before it on its page belong to another owner. */
void page_ledger_begin(struct page_ledger *l, struct heap_arena *arena,
	const struct page_runs *runs, uint64_t page_bytes, uint64_t start);

/* The part of page_ledger_add() that fills a page. */
void page_ledger_turn(struct page_ledger *l, enum heap_part part, uint64_t bytes);

/* The next BYTES are PART. */
static inline void
page_ledger_add(struct page_ledger *l, enum heap_part part, uint64_t bytes)
{
	if (bytes >= l->page_bytes - l->filled) {
		page_ledger_turn(l, part, bytes);
		return;
	}
	l->part[part] += bytes;
	l->filled += bytes;
}

/* The next BYTES are free, and of them malloc_trim gives back [LO, HI), which are pages. */
void page_ledger_add_trim(
	struct page_ledger *l, enum heap_part part, uint64_t bytes, uint64_t lo, uint64_t hi);

/* The segment ends here; the rest of the page belongs to another owner. */
void page_ledger_end(struct page_ledger *l);

/* Add a chunk with the size word RAW to what malloc_info will say of its bin. */
static inline void
bin_add(struct heap_bin *bin, uint64_t raw)
{
	if (!bin->count || raw < bin->from_bytes)
		bin->from_bytes = raw;
	if (raw > bin->to_bytes)
		bin->to_bytes = raw;
	bin->total_bytes += raw;
	bin->count++;
}

#endif
