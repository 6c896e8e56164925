/*
 * Reading a heap of gigabytes without touching it: only pages that are present are read, and of
 * those only the ones that are looked at.  A window moves up with the walk.  Where chunks are small
 * every page has a header on it, and the fewest calls win; where they are large most pages have
 * none, and the fewest bytes do.  So the window grows while it is used well and shrinks when not.
 */
#include <config.h>

#include "heap/heap-priv.h"

#include <errno.h>
#include <stdlib.h>

#define PAGE_BYTES UINT64_C(4096)
/* Two pages at least: a look may begin on one and end on the next. */
#define WINDOW_MIN (2 * PAGE_BYTES)
#define WINDOW_MAX (UINT64_C(1) << 20)
/* A look on every fourth page, and more is read next time; fewer than on every sixteenth, less. */
#define PAGES_A_HIT 4
/* Of less the question who else has it costs more than the quick way of reading saves. */
#define ALONE_MIN (UINT64_C(1) << 16)

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
window_open(
	struct window *w, const struct reader *r, const struct page_runs *runs, struct err *e)
{
	*w = (struct window){
		.t = r->t, .pages = r->pages, .runs = runs, .want_bytes = 16 * PAGE_BYTES };
	w->buf = malloc(WINDOW_MAX);
	return w->buf ? 0 : err_set(e, ENOMEM, "cannot read the heap of %d", r->t->pid);
}

void
window_close(struct window *w)
{
	free(w->buf);
	w->buf = NULL;
}

/* Read more at once, or less, by how the last piece was used. */
static void
adapt(struct window *w)
{
	size_t nr_pages = w->want_bytes / PAGE_BYTES;

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

/* The end of the present pages from ADDR on; 0 if the page of ADDR is not present. */
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

/* Whether nobody else has any of the pages: then they may be read by os_read_unshared(). */
static bool
is_alone(const struct window *w, uint64_t start, uint64_t end)
{
	uint64_t alone;
	struct err e;

	return end - start >= ALONE_MIN && w->pages &&
		os_pages_exclusive(w->pages, (raddr){ start }, (raddr){ end }, &alone, &e) == 0 &&
		alone == end - start;
}

const char *
window_move(struct window *w, uint64_t addr, size_t size)
{
	uint64_t start = addr & ~(PAGE_BYTES - 1);
	uint64_t end = present_end(w, addr);
	ssize_t n;
	struct err e;

	adapt(w);
	if (end > start + w->want_bytes)
		end = start + w->want_bytes;
	w->start = w->end = 0;
	if (end < addr + size)
		return NULL;
	n = (is_alone(w, start, end) ? os_read_unshared : os_read_some)(
		w->t, (raddr){ start }, w->buf, end - start, &e);
	if (n < (ssize_t)(addr + size - start))
		return NULL;
	w->start = start;
	w->end = start + (uint64_t)n;
	w->read_bytes += (uint64_t)n;
	w->nr_reads++;
	w->nr_hits++;
	return w->buf + (addr - start);
}
