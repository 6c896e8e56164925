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

enum heap_part {
	PART_USED,
	PART_OWN,    /* malloc's own data, or another owner's */
	PART_CACHED, /* in a tcache, or in a fast bin without free neighbours */
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
	uint64_t page;	 /* the page that is being filled */
	uint64_t filled; /* its filled bytes */
	uint64_t part[NR_PARTS];
};

/* Begin at START; the preceding bytes on its page belong to another owner. */
void page_ledger_begin(struct page_ledger *l, struct heap_arena *arena,
	const struct page_runs *runs, uint64_t page_bytes, uint64_t start);

/* The slow path of page_ledger_add(), which fills a page. */
void page_ledger_turn(struct page_ledger *l, enum heap_part part, uint64_t bytes);

/* Report the next BYTES as PART. */
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

/* Report the next BYTES as free; malloc_trim releases [LO, HI) of them, which are pages. */
void page_ledger_add_trim(
	struct page_ledger *l, enum heap_part part, uint64_t bytes, uint64_t lo, uint64_t hi);

/* End the segment; the rest of the page belongs to another owner. */
void page_ledger_end(struct page_ledger *l);

/* Add a chunk with the size word RAW to malloc_info's values for its bin. */
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
