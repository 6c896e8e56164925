/*
 * The effect of malloc_trim(): the pages that it cannot release, which the walk has found, and the
 * cost of releasing the others.
 */
#include <config.h>

#include "heap/trim.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/smaps.h"
#include "heap/heap-priv.h"
#include "heap/pages-priv.h"
#include "heap/trim-priv.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/pages.h"
#include "os/proc.h"
#include "os/status.h"

#include <errno.h>
#include <unistd.h>

/*
 * Durations of the steps that hold an arena's lock, as the median on a virtual machine of 2023 with
 * 4 KiB pages (scripts/bench/trim): checking a free chunk, a system call for a range, and freeing a
 * page.
 */
#define CHUNK_NS 40
#define RANGE_NS 800
#define PAGE_NS 500

/* ---- memory that stays ---- */

static int
add_mlocked(const struct smaps_entry *entry, void *arg)
{
	struct mlocked *l = arg;
	struct heap_range *range;

	if (!smaps_has_flag(entry, "lo"))
		return 0;
	range = array_add(l);
	if (!range)
		return 1;
	*range = (struct heap_range){ entry->start, entry->end };
	return 0;
}

int
mlocked_find(struct mlocked *l, const struct target *t, struct err *e)
{
	auto_file FILE *f = NULL;
	struct os_status status = { 0 };
	int result;

	if (os_status(t, 0, &status, e) < 0)
		return -1;
	if (!status.vm_locked_bytes)
		return 0;
	f = os_proc_stream(t, "smaps", e);
	if (!f)
		return -1;
	result = smaps_parse(f, add_mlocked, l, e);
	return result > 0 ? err_set(e, ENOMEM, "cannot list what is locked in memory") : result;
}

uint64_t
mlocked_from(const struct mlocked *l, uint64_t lo, uint64_t hi)
{
	for (size_t i = 0; i < l->nr && l->v[i].start.v < hi; i++)
		if (l->v[i].end.v > lo)
			return l->v[i].start.v > lo ? l->v[i].start.v : lo;
	return hi;
}

/* ---- the tops of thread arenas ---- */

struct heap_range
top_pages(const struct malloc_layout *l, uint64_t page_bytes, uint64_t top, uint64_t end)
{
	uint64_t lo = (top + min_chunk_bytes(l) + page_bytes - 1) & ~(page_bytes - 1);
	uint64_t hi = end & ~(page_bytes - 1);

	return hi > lo ? (struct heap_range){ { lo }, { hi } } : (struct heap_range){ 0 };
}

int
heap_top_pages(const struct target *t, const struct regions *m, const struct malloc_layout *l,
	raddr arena, struct heap_range *ret)
{
	const struct region *region;
	uint64_t top, size;
	char word[sizeof(uint64_t)];
	struct err e;

	if (os_read(t, raddr_add(arena, l->top), word, l->word_bytes, &e) < 0)
		return -1;
	top = word_from(word, l->word_bytes);
	region = regions_find(m, (raddr){ top });
	if (!region || !region_may_be_malloc(region) ||
		os_read(t, (raddr){ top + l->word_bytes }, word, l->word_bytes, &e) < 0)
		return -1;
	size = word_from(word, l->word_bytes) & ~FLAG_BITS;
	*ret = top_pages(l, (uint64_t)sysconf(_SC_PAGESIZE), top, top + size);
	return ret->end.v ? 0 : -1;
}

/* ---- the effect ---- */

/*
 * Estimate how long the lock is held.  An approximate arena may have more free memory than was
 * found, up to all of it.
 */
static uint64_t
lock_ns(const struct heap_arena *arena, uint64_t page_bytes)
{
	uint64_t bytes = arena->trim.rss_bytes + arena->trim.swap_bytes;

	if (arena->certainty == HEAP_APPROXIMATE)
		bytes = arena->resident_bytes + arena->swapped_bytes;
	return arena->binned.count * CHUNK_NS + arena->trim.range.nr * RANGE_NS +
		bytes / page_bytes * PAGE_NS;
}

/* The bytes of a range on huge pages that extend beyond the range. */
struct edges {
	uint64_t head_end, tail_start; /* between them all huge pages are within the range */
	uint64_t bytes;
};

static int
add_huge(const struct os_page_run *run, void *arg)
{
	struct edges *edges = arg;

	if (!run->is_huge)
		return 0;
	if (run->start.v < edges->head_end)
		edges->bytes += (run->end.v < edges->head_end ? run->end.v : edges->head_end) -
			run->start.v;
	if (run->end.v > edges->tail_start)
		edges->bytes += run->end.v -
			(run->start.v > edges->tail_start ? run->start.v : edges->tail_start);
	return 0;
}

/* A huge page covers as much as one table of page table entries, of 8 bytes each. */
static int
find_huge(struct reader *r, struct heap_range range, uint64_t *bytes, struct err *e)
{
	uint64_t huge = r->page_bytes / 8 * r->page_bytes;
	uint64_t lo = range.start.v, hi = range.end.v;
	uint64_t up = (lo + huge - 1) & ~(huge - 1), down = hi & ~(huge - 1);
	struct edges edges = { up < hi ? up : hi, down > up ? down : up, 0 };

	if (os_pages_walk(r->pages, range.start, range.end, false, add_huge, &edges, e) < 0)
		return -1;
	*bytes += edges.bytes;
	return 0;
}

static int
measure_ranges(struct reader *r, struct heap_arena *arena, struct err *e)
{
	for (size_t i = 0; i < arena->trim.range.nr; i++) {
		struct heap_range range = arena->trim.range.v[i];
		uint64_t alone;

		if (os_pages_exclusive(r->pages, range.start, range.end, &alone, e) < 0 ||
			find_huge(r, range, &arena->trim.huge_bytes, e) < 0)
			return -1;
		arena->trim.uss_bytes += alone;
	}
	return 0;
}

void
trim_forecast(struct reader *r, bool want_uss)
{
	struct heap *h = r->heap;
	struct err e;

	h->has_uss = want_uss && r->pages;
	for (size_t i = 0; i < h->arena.nr; i++) {
		struct heap_arena *arena = &h->arena.v[i];

		arena->trim.lock_ns = lock_ns(arena, r->page_bytes);
		if (h->has_uss && measure_ranges(r, arena, &e) < 0)
			h->has_uss = false;
	}
}
