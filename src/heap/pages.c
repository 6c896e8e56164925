/*
 * The use of an arena's pages.  The walk reports every byte of a segment to the ledger in order of
 * address; a page is classed when it is full, whole pages of one part at once.
 */
#include <config.h>

#include "heap/pages.h"

#include "base/array.h"
#include "heap/heap-priv.h"
#include "heap/memory.h"
#include "heap/pages-priv.h"
#include "heap/scan.h"

void
page_ledger_begin(struct page_ledger *l, struct heap_arena *arena, const struct page_runs *runs,
	uint64_t page_bytes, uint64_t start)
{
	*l = (struct page_ledger){ .arena = arena, .runs = runs, .page_bytes = page_bytes };
	l->page = start & ~(page_bytes - 1);
	l->at_run = page_runs_from(runs, l->page);
	l->filled = start - l->page;
	l->part[PART_OWN] = l->filled;
}

/* Count the present and the swapped bytes of [START, END).  START must not decrease. */
static void
pages_count(
	struct page_ledger *l, uint64_t start, uint64_t end, uint64_t *present, uint64_t *swapped)
{
	const struct page_runs *runs = l->runs;

	*present = *swapped = 0;
	while (l->at_run < runs->nr && runs->v[l->at_run].end.v <= start)
		l->at_run++;
	for (size_t i = l->at_run; i < runs->nr && runs->v[i].start.v < end; i++) {
		const struct page_run *run = &runs->v[i];
		uint64_t from = run->start.v > start ? run->start.v : start;
		uint64_t to = run->end.v < end ? run->end.v : end;

		*(run->is_present ? present : swapped) += to - from;
	}
}

static void
pages_note(struct page_ledger *l, enum heap_page_class class, uint64_t bytes)
{
	l->arena->page_bytes[class] += bytes;
}

/* Return the class of a resident page by its contents. */
static enum heap_page_class
pages_class_of(const struct page_ledger *l)
{
	uint64_t kept = l->part[PART_USED] + l->part[PART_OWN];

	if (kept == l->page_bytes)
		return HEAP_PAGE_LIVE;
	if (kept)
		return HEAP_PAGE_MIXED;
	if (l->part[PART_CACHED])
		return HEAP_PAGE_CACHED;
	return l->part[PART_TOP] == l->page_bytes ? HEAP_PAGE_TOP : HEAP_PAGE_MIXED;
}

/* Classify the full page and begin the next. */
static void
turn(struct page_ledger *l)
{
	uint64_t present, swapped, free = l->part[PART_FREE] + l->part[PART_TOP];
	enum heap_page_class class = pages_class_of(l);

	pages_count(l, l->page, l->page + l->page_bytes, &present, &swapped);
	if (present) {
		pages_note(l, class, l->page_bytes);
		l->arena->live_resident_bytes += l->part[PART_USED];
		if (class != HEAP_PAGE_TOP)
			l->arena->stranded_bytes += free;
	} else if (!swapped) {
		pages_note(l, HEAP_PAGE_RETURNED, free);
	}
	l->page += l->page_bytes;
	l->filled = 0;
	for (int i = 0; i < NR_PARTS; i++)
		l->part[i] = 0;
}

/* Handle whole pages of one part, at the start of a page. */
static void
pages_whole_pages(struct page_ledger *l, enum heap_part part, uint64_t bytes)
{
	static const enum heap_page_class class[] = {
		[PART_USED] = HEAP_PAGE_LIVE,
		[PART_OWN] = HEAP_PAGE_LIVE,
		[PART_CACHED] = HEAP_PAGE_CACHED,
		[PART_FREE] = HEAP_PAGE_MIXED,
		[PART_TOP] = HEAP_PAGE_TOP,
	};
	uint64_t present, swapped;

	pages_count(l, l->page, l->page + bytes, &present, &swapped);
	pages_note(l, class[part], present);
	if (part == PART_USED)
		l->arena->live_resident_bytes += present;
	if (part == PART_FREE || part == PART_TOP)
		pages_note(l, HEAP_PAGE_RETURNED, bytes - present - swapped);
	if (part == PART_FREE)
		l->arena->stranded_bytes += present;
	l->page += bytes;
}

void
page_ledger_turn(struct page_ledger *l, enum heap_part part, uint64_t bytes)
{
	uint64_t room = l->page_bytes - l->filled, whole;

	if (l->filled) {
		l->part[part] += room;
		turn(l);
		bytes -= room;
	}
	whole = bytes & ~(l->page_bytes - 1);
	if (whole)
		pages_whole_pages(l, part, whole);
	l->part[part] = l->filled = bytes - whole;
}

void
page_ledger_add_trim(
	struct page_ledger *l, enum heap_part part, uint64_t bytes, uint64_t lo, uint64_t hi)
{
	uint64_t start = l->page + l->filled, present, swapped;
	struct heap_range *range = array_add(&l->arena->trim.range);

	page_ledger_add(l, part, lo - start);
	pages_count(l, lo, hi, &present, &swapped);
	pages_note(l, HEAP_PAGE_TRIMMABLE, present);
	pages_note(l, HEAP_PAGE_RETURNED, hi - lo - present - swapped);
	l->arena->trim.rss_bytes += l->is_hugetlb ? 0 : present;
	l->arena->trim.swap_bytes += swapped;
	if (range)
		*range = (struct heap_range){ { lo }, { hi } };
	else
		heap_arena_doubt(l->arena, "there was no memory to list what can be trimmed");
	l->page = hi;
	page_ledger_add(l, part, start + bytes - hi);
}

void
page_ledger_end(struct page_ledger *l)
{
	if (l->filled)
		page_ledger_add(l, PART_OWN, l->page_bytes - l->filled);
}

const char *
heap_page_class_name(enum heap_page_class c)
{
	static const char *const name[] = {
		[HEAP_PAGE_LIVE] = "live",
		[HEAP_PAGE_MIXED] = "mixed",
		[HEAP_PAGE_TRIMMABLE] = "trimmable",
		[HEAP_PAGE_CACHED] = "cached",
		[HEAP_PAGE_TOP] = "top",
		[HEAP_PAGE_BEHIND] = "behind",
		[HEAP_PAGE_RETURNED] = "returned",
		[HEAP_PAGE_RESERVED] = "reserved",
	};

	return name[c];
}
