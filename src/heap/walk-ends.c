#include <config.h>

#include "heap/walk-ends.h"

#include <string.h>

#include "elf/regions.h"
#include "glibc/arenas.h"
#include "glibc/layout.h"
#include "heap/arena-priv.h"
#include "heap/memory.h"
#include "heap/pages-priv.h"
#include "heap/scan.h"
#include "heap/trim-priv.h"
#include "heap/walk-state.h"
#include "os/target.h"

/* ---- pieces that malloc_trim(0) sees as one ---- */

/*
 * Get the range that mtrim() (malloc/malloc.c, since 2.8) releases: the whole pages of a free chunk
 * after its header, if any.
 */
static bool
trim_range(const struct heap_walk *w, uint64_t start, uint64_t bytes, uint64_t *lo, uint64_t *hi)
{
	uint64_t page = w->r->page_bytes, header = CHUNK_WORDS * (uint64_t)w->word;

	if (bytes <= page - 1 + header)
		return false;
	*lo = (start + header + page - 1) & ~(page - 1);
	*hi = *lo + ((start + bytes - *lo) & ~(page - 1));
	return *hi > *lo;
}

/*
 * Return whether madvise() releases the range.  It ends where memory is locked (mm/madvise.c,
 * can_madv_lru_vma()); on pages of the hugetlb pool it must begin at a page, and releases only
 * whole ones (madvise_dontneed_free_valid_vma(), 5.18).
 */
static bool
is_given_back(struct heap_walk *w, uint64_t lo, uint64_t *hi)
{
	uint64_t end;

	if (w->huge_page && (lo % w->huge_page || *hi - lo < w->huge_page))
		return false;
	if (w->huge_page)
		*hi -= *hi % w->huge_page;
	end = mlocked_from(&w->r->mlocked, lo, *hi);
	w->arena->trim.mlocked_bytes += *hi - end;
	*hi = end;
	return end > lo;
}

void
walk_end_large_piece(struct heap_walk *w, enum heap_part part)
{
	uint64_t lo, hi;

	if (trim_range(w, w->piece, w->piece_bytes, &lo, &hi) && is_given_back(w, lo, &hi))
		page_ledger_add_trim(&w->ledger, part, w->piece_bytes, lo, hi);
	else
		page_ledger_add(&w->ledger, part, w->piece_bytes);
}

/* ---- the end of a segment ---- */

/*
 * Return whether END is malloc's brk, by libc's variable, or else by the mapping.  With
 * glibc.malloc.hugetlb=2 malloc does not use brk (ptmalloc_init(), malloc/arena.c, 2.35), and if
 * brk was blocked from the start the arena begins in other memory.  Core files do not have the
 * name.
 */
static bool
ends_at_brk(const struct heap_walk *w, uint64_t end)
{
	raddr start = { brk_start(w->r) };
	const struct region *region = regions_find(w->r->m, start);
	struct heap_range brk = reader_mapping(w->r, start.v);

	if (w->r->l->params.hp_page || !region || !brk.end.v)
		return false;
	if (arenas_brk(w->r->arenas, w->r->t).v)
		return arenas_brk(w->r->arenas, w->r->t).v == end;
	if (!w->r->t->core && (!region->path || strcmp(region->path, "[heap]") != 0))
		return false;
	/* brk may have grown since the mappings were listed; in pieces top may be elsewhere. */
	return w->s->is_in_pieces ? brk.end.v == end : brk.end.v <= end;
}

/*
 * Get the range that systrim() releases (malloc/malloc.c, since 2.19; 2.35 added thp_pagesize): brk
 * goes down to the last whole page that leaves MINSIZE + 1 bytes and the pad of top; if brk is
 * still where malloc left it.
 */
static bool
brk_range(const struct heap_walk *w, uint64_t top, uint64_t *lo, uint64_t *hi)
{
	const struct malloc_layout *l = w->r->l;
	uint64_t unit = l->params.thp_page ? l->params.thp_page : w->r->page_bytes;
	uint64_t end = w->addr + w->arena->top.bytes, page = w->r->page_bytes;
	uint64_t keep = min_chunk_bytes(l) + 1 + w->r->pad_bytes, extra;

	if (!ends_at_brk(w, end) || end - top <= keep)
		return false;
	extra = (end - top - keep) & ~(unit - 1);
	*lo = (end - extra + page - 1) & ~(page - 1);
	*hi = end;
	return extra && *hi > *lo;
}

/* Get the top of a thread arena, which malloc_trim() keeps, if it is to be released anyway. */
static bool
thread_range(struct heap_walk *w, struct heap_range pages, uint64_t *lo, uint64_t *hi)
{
	*lo = pages.start.v;
	*hi = pages.end.v;
	return w->r->with_tops && *hi > *lo && is_given_back(w, *lo, hi);
}

void
walk_take_top(struct heap_walk *w)
{
	uint64_t end = w->addr + w->arena->top.bytes, lo, hi;
	uint64_t top = w->piece_bytes ? w->piece : w->addr;
	struct heap_range pages = top_pages(w->r->l, w->r->page_bytes, top, end);

	walk_visit_chunk(w, w->addr, end - w->addr, HEAP_USE_FREE);
	if (w->arena->is_main ? brk_range(w, top, &lo, &hi) : thread_range(w, pages, &lo, &hi)) {
		page_ledger_add_trim(&w->ledger, PART_TOP, end - top, lo, hi);
	} else {
		page_ledger_add(&w->ledger, PART_TOP, end - top);
		w->arena->top_pages = pages;
	}
	w->piece_bytes = w->piece_free_bytes = 0;
	w->addr = end;
}

/* Return the end of the heap or piece that has fence posts at w->addr. */
static uint64_t
fence_end(const struct heap_walk *w)
{
	uint64_t page = w->r->page_bytes, posts = 4 * (uint64_t)w->word;
	uint64_t end = (w->addr + posts + page - 1) & ~(page - 1);

	return w->s->is_in_pieces && end < w->seg->end.v ? end : w->seg->end.v;
}

void
walk_take_fence(struct heap_walk *w)
{
	uint64_t bytes = fence_end(w) - w->addr;

	walk_end_piece(w);
	walk_visit_chunk(w, w->addr, bytes, HEAP_USE_OWN);
	page_ledger_add(&w->ledger, PART_OWN, bytes);
	w->s->fence_bytes += bytes;
	w->addr += bytes;
}

int
walk_expect_fence(struct heap_walk *w, uint64_t stop)
{
	uint64_t left = fence_end(w) - w->addr;
	bool is_odd =
		left > 6 * (uint64_t)w->word || (stop != w->seg->end.v && !w->s->is_in_pieces);

	if (is_odd && w->arena->is_main)
		w->s->is_in_pieces = true;
	if (is_odd)
		return heap_arena_doubt(
			w->arena, "the chunk at 0x%" PRIx64 " has no size", w->addr);
	walk_take_fence(w);
	return 0;
}
