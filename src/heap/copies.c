/*
 * Copies of the memory that was read last, for lists that lead all over the heap.  At first only
 * the requested pages; when a copy has enough of them, all its present pages, because the lists of
 * a heap that was freed in order go through it page by page.
 */
#include <config.h>

#include "heap/copies.h"

#include "heap/heap-priv.h"
#include "heap/memory.h"
#include "heap/pages-priv.h"
#include "heap/scan.h"
#include "os/memory.h"
#include "os/os.h"

#include <errno.h>
#include <stdlib.h>

#define COPY_BYTES UINT64_C(65536)

int
copies_open(struct copies *c, struct reader *r, const struct scan *s, int nr_single, struct err *e)
{
	*c = (struct copies){
		.r = r, .s = s, .nr_single = nr_single, .buf = malloc(NR_COPIES * COPY_BYTES)
	};
	return c->buf ? 0 : err_set(e, ENOMEM, "cannot read the heap of %d", r->t->pid);
}

void
copies_close(struct copies *c)
{
	free(c->buf);
}

/* Read [FROM, TO), which are pages of COPY. */
static void
copies_read_pages(struct copies *c, struct copy *copy, uint64_t from, uint64_t to)
{
	char *buf = c->buf + (size_t)(copy - c->copy) * COPY_BYTES;
	struct err e;

	if (os_read(c->r->t, (raddr){ from }, buf + (from - copy->start), to - from, &e) < 0)
		return;
	c->r->heap->read_bytes += to - from;
	for (; from < to; from += c->r->page_bytes)
		copy->pages |= UINT32_C(1) << (from - copy->start) / c->r->page_bytes;
}

/* Read the present pages of [START, END), which belong to COPY, using the runs of a segment. */
static void
read_runs(struct copies *c, struct copy *copy, const struct page_runs *runs, uint64_t start,
	uint64_t end)
{
	for (size_t i = page_runs_from(runs, start); i < runs->nr && runs->v[i].start.v < end; i++)
		if (runs->v[i].is_present)
			copies_read_pages(c, copy,
				runs->v[i].start.v > start ? runs->v[i].start.v : start,
				runs->v[i].end.v < end ? runs->v[i].end.v : end);
}

/* Read the present pages of [START, END), which belong to COPY, using the reader's page states. */
static void
copies_read_present(struct copies *c, struct copy *copy, uint64_t start, uint64_t end)
{
	uint64_t from = start;

	for (uint64_t page = start; page < end; page += c->r->page_bytes)
		if (reader_page(c->r, page) != PAGE_PRESENT) {
			if (page > from)
				copies_read_pages(c, copy, from, page);
			from = page + c->r->page_bytes;
		}
	if (end > from)
		copies_read_pages(c, copy, from, end);
}

const char *
copies_pair(struct copies *c, uint64_t addr)
{
	uint64_t start = addr & ~(COPY_BYTES - 1), page_bytes = c->r->page_bytes;
	struct copy *copy = &c->copy[start / COPY_BYTES % NR_COPIES];
	uint64_t from = addr & ~(page_bytes - 1), to = from + page_bytes;
	uint32_t bit = UINT32_C(1) << (addr - start) / page_bytes;
	ssize_t seg;

	if (addr % (2 * c->r->l->word_bytes))
		return NULL;
	if (copy->start != start)
		*copy = (struct copy){ .start = start };
	if (copy->pages & bit)
		return c->buf + (size_t)(copy - c->copy) * COPY_BYTES + (addr - start);
	if (reader_is_late(c->r))
		return NULL;
	if (__builtin_popcount(copy->pages) >= c->nr_single) {
		from = start;
		to = start + COPY_BYTES;
	}
	seg = c->s ? segment_at(c->s->arena, addr) : -1;
	if (seg >= 0)
		read_runs(c, copy, &c->s->stretch.v[seg].runs, from, to);
	else if (!c->s)
		copies_read_present(c, copy, from, to);
	if (!(copy->pages & bit))
		return NULL;
	return c->buf + (size_t)(copy - c->copy) * COPY_BYTES + (addr - start);
}
