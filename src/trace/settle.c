#include <config.h>

#include "trace/settle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "maps/leaves.h"
#include "maps/maps.h"
#include "maps/space.h"
#include "os/pages.h"

/* State for examining the end of a program. */
struct settling {
	struct trace_program *p;
	const struct space *space;
	size_t leaf; /* the next one, in address order */
	struct os_pages *pages;
	struct trace_sums *sums; /* the sums that get the counted pages */
	uint64_t resident_bytes; /* of the current range */
	struct err *e;
	int status;
};

/* ---- mapped memory ---- */

static int
settle_count_run(const struct os_page_run *run, void *arg)
{
	struct settling *s = arg;
	const uint64_t bytes = run->end.v - run->start.v;

	if (run->is_present)
		s->resident_bytes += bytes;
	if (run->is_present && run->is_huge)
		s->sums->huge_bytes += bytes;
	if (run->is_swapped)
		s->sums->swapped_bytes += bytes;
	return 0;
}

/* Add BYTES to STACK's total in the class of LEAF. */
static int
settle_add_class(struct trace_program *p, uint32_t stack, const struct leaf *leaf, uint64_t bytes,
	uint64_t resident_bytes)
{
	const char *name = leaf_kind_name((enum leaf_kind)leaf->kind);
	struct trace_class *c;
	size_t i = 0;

	while (i < p->classes.nr &&
		(p->classes.v[i].stack != stack || p->classes.v[i].name != name))
		i++;
	c = i < p->classes.nr ? &p->classes.v[i] : array_add(&p->classes);
	if (!c)
		return -1;
	c->stack = stack;
	c->name = name;
	c->bytes += bytes;
	c->resident_bytes += resident_bytes;
	return 0;
}

/* Count PIECE.  Pieces arrive in address order, as leaves do. */
static void
settle_piece(const struct ledger_piece *piece, void *arg)
{
	struct settling *s = arg;
	const struct leaf *leaf = s->space->leaves.v;
	size_t i;

	while (s->leaf < s->space->leaves.nr && leaf[s->leaf].end.v <= piece->start)
		s->leaf++;
	for (i = s->leaf; i < s->space->leaves.nr && leaf[i].start.v < piece->end; i++) {
		const uint64_t start =
			leaf[i].start.v > piece->start ? leaf[i].start.v : piece->start;
		const uint64_t end = leaf[i].end.v < piece->end ? leaf[i].end.v : piece->end;

		if (s->status == 0) {
			s->sums = &s->p->stacks.v[piece->owner].sums;
			s->resident_bytes = 0;
			if (s->pages &&
				os_pages_walk(s->pages, (raddr){ start }, (raddr){ end }, false,
					settle_count_run, s, s->e) < 0)
				s->status = -1;
			s->sums->left_bytes += end - start;
			s->sums->resident_bytes += s->resident_bytes;
			if (settle_add_class(s->p, piece->owner, &leaf[i], end - start,
				    s->resident_bytes) < 0)
				s->status = err_set(s->e, ENOMEM, "cannot add up what is left");
		}
	}
}

/* ---- touched pages ---- */

/* A huge page, as mapped by one page fault. */
#define HUGE_BYTES (UINT64_C(2) << 20)

static int
settle_by_address(const void *a, const void *b)
{
	const struct trace_touch *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

/* Store the first page of a range. */
static int
first_run(const struct os_page_run *run, void *arg)
{
	*(struct os_page_run *)arg = *run;
	return 1;
}

/*
 * Count the touch of AT, a page of LEAF.  If the page is part of a huge page now, and no other
 * touch of it was seen, the huge page was mapped at once; else the kernel built it from pages
 * touched one by one.
 */
static void
settle_touch(struct settling *s, const struct leaf *leaf, const struct trace_touch *at,
	bool is_alone, uint64_t page_bytes)
{
	const raddr page = { at->address & ~(page_bytes - 1) };
	struct os_page_run run = { .is_present = false };
	struct trace_sums *sums = &s->p->stacks.v[at->stack].sums;
	uint64_t bytes = page_bytes;

	if (s->pages &&
		os_pages_walk(s->pages, page, (raddr){ page.v + page_bytes }, false, first_run,
			&run, s->e) < 0)
		s->status = -1;
	if (run.is_present && run.is_huge && is_alone)
		bytes = HUGE_BYTES;
	sums->touched_bytes += (bytes - page_bytes) * at->weight;
	bytes *= at->weight;
	sums->left_bytes += bytes;
	sums->resident_bytes += run.is_present ? bytes : 0;
	sums->swapped_bytes += run.is_swapped ? bytes : 0;
	sums->huge_bytes += run.is_present && run.is_huge ? bytes : 0;
	if (settle_add_class(s->p, at->stack, leaf, bytes, run.is_present ? bytes : 0) < 0)
		s->status = err_set(s->e, ENOMEM, "cannot add up what is left");
}

static bool
is_in_one_huge_page(const struct trace_touch *a, const struct trace_touch *b)
{
	return a->address / HUGE_BYTES == b->address / HUGE_BYTES;
}

/* Count touched pages.  Touches of unmapped memory have no class. */
static void
settle_touches(struct settling *s)
{
	const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	const struct leaf *leaf = s->space->leaves.v, *end = leaf + s->space->leaves.nr;
	const struct trace_touch *v = s->p->touches.v;
	const size_t nr = s->p->touches.nr;

	if (nr)
		qsort(s->p->touches.v, nr, sizeof *v, settle_by_address);
	for (size_t i = 0; i < nr && s->status == 0; i++) {
		const bool is_alone = (i == 0 || !is_in_one_huge_page(&v[i - 1], &v[i])) &&
			(i + 1 == nr || !is_in_one_huge_page(&v[i + 1], &v[i]));

		while (leaf < end && leaf->end.v <= v[i].address)
			leaf++;
		if (leaf < end && leaf->start.v <= v[i].address)
			settle_touch(s, leaf, &v[i], is_alone, page_bytes);
	}
}

/* ---- the whole ---- */

int
trace_settle(struct trace_program *p, struct err *e)
{
	const struct space_options how = { .rss_from = SPACE_RSS_NONE, .process = &p->process };
	auto_space struct space space = { .process = NULL };
	auto_pages struct os_pages *pages = NULL;
	struct settling s = { .p = p, .space = &space, .e = e };
	struct err ignored;

	if (!p->is_open || trace_program_read(p, e) < 0)
		return p->is_open ? -1 : err_set_kind(e, ERR_GONE, 0, "it has ended");
	(void)process_find_arenas(&p->process, NULL, &ignored); /* recorded in the process */
	if (space_read(&space, &p->target, &how, e) < 0)
		return -1;
	/* If pages may not be counted, the remaining bytes are known nevertheless. */
	if (os_pages_open(&pages, &p->target, OS_PAGES_AUTO, &ignored) == 0)
		s.pages = pages;
	p->knows_huge = os_pages_know_huge(pages);
	ledger_walk(&p->ledger, settle_piece, &s);
	settle_touches(&s);
	if (s.status == 0)
		p->is_settled = true;
	return s.status;
}
