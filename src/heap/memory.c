/*
 * Reading a heap of gigabytes without touching it: only present pages are read, and of those only
 * the necessary ones.  A window moves up with the walk.  If chunks are small every page has a
 * header, and the fewest calls are best; if chunks are large most pages have no header, and the
 * fewest bytes are best.  So the window grows while it is used well and shrinks when not.
 */
#include <config.h>

#include "heap/memory.h"

#include "base/array.h"
#include "heap/read-ahead.h"
#include "os/clock.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/pages.h"
#include "os/ptrace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool
reader_is_late(struct reader *r)
{
	if (r->deadline_ns && os_now_ns() >= r->deadline_ns)
		r->is_late = true;
	return r->is_late;
}

#define PAGE_BYTES UINT64_C(4096)
/* At least two pages: a sample may begin on one and end on the next. */
#define WINDOW_MIN (2 * PAGE_BYTES)
/* A window of this size is still in the processor's cache when it is looked at. */
#define WINDOW_MAX (UINT64_C(1) << 18)
/*
 * With a sample on every fourth page read more the next time; with fewer than on every sixteenth,
 * less.
 */
#define PAGES_A_HIT 4
/* Below this size checking which pages are shared costs more than the faster read saves. */
#define ALONE_MIN (UINT64_C(1) << 16)

/* Bytes between two readings of the clock: the kernel scans page tables for some 10 ms a GiB. */
#define LISTED_BYTES (UINT64_C(128) << 20)

/* ---- single places ---- */

/* Return the index of the first region that ends after ADDR. */
static size_t
region_from(const struct regions *m, uint64_t addr)
{
	size_t from = 0, to = m->nr;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (m->region[mid].end.v <= addr)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* Record in the group ARG which of its pages are present or swapped. */
static int
see_pages(const struct os_page_run *run, void *arg)
{
	struct page_group *g = arg;
	uint64_t *bits = run->is_present ? &g->present : &g->swapped;

	for (uint64_t page = run->start.v; page < run->end.v; page += g->page_bytes)
		if (run->is_present || run->is_swapped)
			*bits |= UINT64_C(1) << (page - g->start) / g->page_bytes;
	return 0;
}

static int
see_region(struct reader *r, struct page_group *g, uint64_t start, uint64_t end)
{
	struct os_page_run all = { .start = { start }, .end = { end }, .is_present = true };
	struct err e;

	if (start == end)
		return 0;
	return r->pages
		? os_pages_walk(r->pages, (raddr){ start }, (raddr){ end }, false, see_pages, g, &e)
		: see_pages(&all, g);
}

/*
 * Read the page states of the group that begins at START; pages whose state cannot be read count as
 * missing.  Regions without a hole between them are one walk: a thread's stack and its guard page,
 * or the parts of a heap.
 */
static void
ask_group(struct reader *r, struct page_group *g, uint64_t start)
{
	uint64_t end = start + GROUP_PAGES * r->page_bytes, from = start, to = start;

	*g = (struct page_group){ .start = start, .page_bytes = r->page_bytes };
	for (size_t i = region_from(r->m, start); i < r->m->nr && r->m->region[i].start.v < end;
		i++) {
		const struct region *region = &r->m->region[i];

		if (!region_may_be_malloc(region))
			continue;
		if (region->start.v > to) {
			see_region(r, g, from, to);
			from = region->start.v;
		}
		to = region->end.v < end ? region->end.v : end;
	}
	see_region(r, g, from, to);
}

enum page_presence
reader_page(struct reader *r, uint64_t addr)
{
	uint64_t bytes = GROUP_PAGES * r->page_bytes, start = addr & ~(bytes - 1), bit;
	struct page_group *g = &r->group[start / bytes % NR_GROUPS];

	if (g->start != start || !g->page_bytes)
		ask_group(r, g, start);
	bit = UINT64_C(1) << (addr - start) / r->page_bytes;
	return g->present & bit ? PAGE_PRESENT : g->swapped & bit ? PAGE_SWAPPED : PAGE_NONE;
}

bool
reader_is_swapped(struct reader *r, uint64_t addr, size_t size)
{
	return reader_page(r, addr) == PAGE_SWAPPED ||
		reader_page(r, addr + size - 1) == PAGE_SWAPPED;
}

bool
reader_look(struct reader *r, uint64_t addr, void *to, size_t size)
{
	struct err e;

	return reader_page(r, addr) == PAGE_PRESENT &&
		reader_page(r, addr + size - 1) == PAGE_PRESENT &&
		os_read(r->t, (raddr){ addr }, to, size, &e) == 0;
}

/* ---- stretches ---- */

static int
memory_add_run(const struct os_page_run *run, void *arg)
{
	struct page_runs *runs = arg;
	struct page_run *copy;

	if (!run->is_present && !run->is_swapped)
		return 0;
	copy = array_add(runs);
	if (!copy)
		return 1;
	*copy = (struct page_run){ run->start, run->end, run->is_present };
	return 0;
}

/* List the runs in [AT, END), of one region, as far as there is time. */
static int
list_runs(struct reader *r, struct page_runs *runs, uint64_t at, uint64_t end, struct err *e)
{
	struct os_page_run all = { .start = { at }, .end = { end }, .is_present = true };
	int bad = 0;

	if (!r->pages)
		return memory_add_run(&all, runs);
	while (at < end && !bad && !reader_is_late(r)) {
		uint64_t next = end - at > LISTED_BYTES ? at + LISTED_BYTES : end;

		bad = os_pages_walk(
			r->pages, (raddr){ at }, (raddr){ next }, false, memory_add_run, runs, e);
		at = next;
	}
	return bad;
}

int
reader_add_runs(
	struct reader *r, struct page_runs *runs, uint64_t start, uint64_t end, struct err *e)
{
	uint64_t page_end = (end + r->page_bytes - 1) & ~(r->page_bytes - 1);
	int bad = 0;

	for (size_t i = region_from(r->m, start);
		i < r->m->nr && r->m->region[i].start.v < page_end && !bad; i++) {
		const struct region *region = &r->m->region[i];

		if (region_may_be_malloc(region))
			bad = list_runs(r, runs, region->start.v > start ? region->start.v : start,
				region->end.v < page_end ? region->end.v : page_end, e);
	}
	return bad > 0 ? err_set(e, ENOMEM, "cannot list the pages of the heap") : bad;
}

uint64_t
reader_memory_end(const struct reader *r, uint64_t addr)
{
	uint64_t end = addr;

	for (size_t i = region_from(r->m, addr); i < r->m->nr; i++) {
		const struct region *region = &r->m->region[i];

		if (region->start.v > end || !region_may_be_malloc(region))
			break;
		end = region->end.v;
	}
	return end;
}

/* Return whether region B directly continues A. */
static bool
memory_goes_on(const struct region *a, const struct region *b)
{
	return a->end.v == b->start.v && strcmp(a->prot, b->prot) == 0 && region_may_be_malloc(b) &&
		strcmp(a->path ? a->path : "", b->path ? b->path : "") == 0;
}

/*
 * Return the part of RANGE around ADDR that belongs to no thread arena; {0, 0} if ADDR is in one.
 */
static struct heap_range
between_heaps(const struct reader *r, uint64_t addr, struct heap_range range)
{
	uint64_t max = r->arenas->heap_max_bytes;

	for (size_t i = 0; i < r->arenas->nr; i++)
		for (size_t k = 0; k < r->arenas->v[i].nr_heaps; k++) {
			uint64_t start = r->arenas->v[i].heap[k].start.v;

			if (addr - start < max)
				return (struct heap_range){ 0 };
			if (start < addr && start + max > range.start.v)
				range.start.v = start + max;
			if (start > addr && start < range.end.v)
				range.end.v = start;
		}
	return range;
}

struct heap_range
reader_mapping(const struct reader *r, uint64_t addr)
{
	const struct region *first = regions_find(r->m, (raddr){ addr }), *last = first;

	if (!first || !region_may_be_malloc(first) || first->prot[1] != 'w')
		return (struct heap_range){ 0 };
	while (first > r->m->region && memory_goes_on(first - 1, first))
		first--;
	while (last + 1 < r->m->region + r->m->nr && memory_goes_on(last, last + 1))
		last++;
	return between_heaps(r, addr, (struct heap_range){ first->start, last->end });
}

uint64_t
reader_hugetlb_page(const struct reader *r, uint64_t addr)
{
	static const char name[] = "/anon_hugepage"; /* mm/hugetlb.c, HUGETLB_ANON_FILE */
	const struct region *region = regions_find(r->m, (raddr){ addr });

	return region && region->path && strncmp(region->path, name, sizeof name - 1) == 0
		? r->l->params.hp_page
		: 0;
}

/* ---- the window ---- */

size_t
page_runs_from(const struct page_runs *runs, uint64_t addr)
{
	size_t from = 0, to = runs->nr;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (runs->v[mid].end.v <= addr)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

int
window_open(struct window *w, const struct reader *r, const struct page_runs *runs, struct err *e)
{
	*w = (struct window){
		.t = r->t, .pages = r->pages, .runs = runs, .want_bytes = 16 * PAGE_BYTES
	};
	w->buf = w->own = malloc(WINDOW_MAX);
	return w->own ? 0 : err_set(e, ENOMEM, "cannot read the heap of %d", r->t->pid);
}

void
window_close(struct window *w)
{
	read_ahead_free(w->ahead);
	free(w->own);
	w->ahead = NULL;
	w->buf = w->own = NULL;
}

/* From this size on a thread that reads ahead takes less time than it takes to begin it. */
#define AHEAD_MIN (UINT64_C(4) << 20)

void
window_read_whole(struct window *w, uint64_t addr)
{
	const struct page_runs *runs = w->runs;
	uint64_t present = 0, alone;
	struct err e;

	w->is_whole = true;
	w->want_bytes = WINDOW_MAX;
	for (size_t i = 0; i < runs->nr; i++)
		if (runs->v[i].is_present)
			present += runs->v[i].end.v - runs->v[i].start.v;
	w->is_alone = runs->nr && w->pages &&
		os_pages_exclusive(
			w->pages, runs->v[0].start, runs->v[runs->nr - 1].end, &alone, &e) == 0 &&
		alone >= present;
	if (present >= AHEAD_MIN && !w->t->core)
		w->ahead = read_ahead_new(w->t, runs, addr & -PAGE_BYTES, WINDOW_MAX, w->is_alone);
}

uint64_t
window_next_present(const struct window *w, uint64_t addr)
{
	for (size_t i = page_runs_from(w->runs, addr); i < w->runs->nr; i++)
		if (w->runs->v[i].is_present)
			return w->runs->v[i].start.v > addr ? w->runs->v[i].start.v : addr;
	return UINT64_MAX;
}

/* Change the size of reads by the use of the last one. */
static void
adapt(struct window *w)
{
	size_t nr_pages = w->want_bytes / PAGE_BYTES;

	if (w->is_whole)
		return;
	if (w->nr_hits * PAGES_A_HIT >= nr_pages && w->want_bytes < WINDOW_MAX)
		w->want_bytes *= 4;
	else if (w->nr_hits * PAGES_A_HIT * 4 < nr_pages)
		w->want_bytes /= 4;
	if (w->want_bytes > WINDOW_MAX)
		w->want_bytes = WINDOW_MAX;
	if (w->want_bytes < WINDOW_MIN)
		w->want_bytes = WINDOW_MIN;
	w->nr_hits = 0;
}

/* Return the end of the present pages from ADDR on; 0 if the page of ADDR is not present. */
static uint64_t
present_end(struct window *w, uint64_t addr)
{
	const struct page_runs *runs = w->runs;
	uint64_t end = addr;

	if (!w->end)
		w->at_run = page_runs_from(runs, addr);
	while (w->at_run < runs->nr && runs->v[w->at_run].end.v <= addr)
		w->at_run++;
	for (size_t i = w->at_run; i < runs->nr && runs->v[i].is_present; i++) {
		if (runs->v[i].start.v > end)
			break;
		end = runs->v[i].end.v;
	}
	return end > addr ? end : 0;
}

/*
 * Return whether no other process shares any of the pages: then os_read_unshared() may read them.
 */
static bool
memory_is_alone(const struct window *w, uint64_t start, uint64_t end)
{
	uint64_t alone;
	struct err e;

	if (w->is_whole)
		return w->is_alone;
	return end - start >= ALONE_MIN && w->pages &&
		os_pages_exclusive(w->pages, (raddr){ start }, (raddr){ end }, &alone, &e) == 0 &&
		alone == end - start;
}

/* As window_move(), from the pieces that are read ahead. */
static const char *
window_take_ahead(struct window *w, uint64_t addr, size_t size)
{
	const char *buf = read_ahead_at(w->ahead, addr, &w->start, &w->end);

	if (!buf || w->end < addr + size) {
		w->start = w->end = 0;
		return NULL;
	}
	w->buf = buf;
	w->read_bytes += w->end - w->start;
	w->nr_reads++;
	return buf + (addr - w->start);
}

const char *
window_move(struct window *w, uint64_t addr, size_t size)
{
	uint64_t start = addr & ~(PAGE_BYTES - 1);
	uint64_t end;
	ssize_t n;
	struct err e;

	if (w->ahead)
		return window_take_ahead(w, addr, size);
	end = present_end(w, addr);
	adapt(w);
	if (end > start + w->want_bytes)
		end = start + w->want_bytes;
	w->start = w->end = 0;
	if (end < addr + size)
		return NULL;
	n = (memory_is_alone(w, start, end) ? os_read_unshared : os_read_some)(
		w->t, (raddr){ start }, w->own, end - start, &e);
	if (n < (ssize_t)(addr + size - start))
		return NULL;
	w->start = start;
	w->end = start + (uint64_t)n;
	w->read_bytes += (uint64_t)n;
	w->nr_reads++;
	w->nr_hits++;
	return w->buf + (addr - start);
}
