/*
 * The ledger against an array of pages: who has each page, and where its pieces begin.  Random
 * steps, by seeds, with borders at the ends of the address space.
 *
 *	trace-ledger [FIRST-SEED [NUMBER]]
 */
#include <config.h>

#include "seeds.h"
#include "trace/ledger.h"

#define NR_PAGES 96
#define NR_OWNERS 4
#define STEPS 400
#define NOBODY UINT32_MAX

/* The addresses that page 0 has, and the bytes of a page, which need not be 4096. */
static const struct place {
	uint64_t base, page_bytes;
} places[] = {
	{ 0, 4096 },
	{ 0x555500000000, 4096 },
	{ (UINT64_C(1) << 47) - NR_PAGES / 2 * 4096, 4096 }, /* around the end of user space */
	{ (UINT64_C(1) << 32) - NR_PAGES / 2 * 65536, 65536 },
	{ (UINT64_C(1) << 63) - NR_PAGES / 2 * 4096, 4096 },
	{ -(uint64_t)NR_PAGES * 4096, 4095 }, /* up to the last byte but some */
	{ UINT64_MAX - NR_PAGES, 1 },	      /* up to the last byte */
	{ 3, 7 },
};

struct page {
	uint32_t owner;
	bool begins; /* a piece begins here, in the ledger */
};

static struct world {
	struct ledger l;
	struct place at;
	struct page page[NR_PAGES + 1]; /* the last one is nobody's */
	uint64_t taken[NR_OWNERS];	/* pages, by the visits of cuts */
	uint64_t want_taken[NR_OWNERS]; /* by the pages */
	uint64_t cut_start, cut_end;
	bool is_outside; /* a visit to what was not to be cut */
} w;

static uint64_t
address(size_t page)
{
	return w.at.base + page * w.at.page_bytes;
}

static size_t
page_of(uint64_t address)
{
	return (size_t)((address - w.at.base) / w.at.page_bytes);
}

/* ---- the ledger as an array ---- */

static struct shown {
	struct page page[NR_PAGES + 1];
	uint64_t last_end;
	size_t nr;
	bool is_wrong;
} shown;

static void
show(const struct ledger_piece *p, void *arg)
{
	struct shown *s = arg;

	s->is_wrong |= p->start >= p->end || p->owner >= NR_OWNERS || p->start < w.at.base ||
		p->end > address(NR_PAGES) || (p->start - w.at.base) % w.at.page_bytes ||
		(p->end - w.at.base) % w.at.page_bytes || (s->nr && p->start < s->last_end);
	s->last_end = p->end;
	s->nr++;
	if (s->is_wrong)
		return;
	for (size_t i = page_of(p->start); i < page_of(p->end); i++)
		s->page[i] = (struct page){ p->owner, i == page_of(p->start) };
}

static void
clear(struct page *page)
{
	for (size_t i = 0; i <= NR_PAGES; i++)
		page[i] = (struct page){ NOBODY, false };
}

static void
show_all(void)
{
	shown.nr = 0;
	shown.is_wrong = false;
	clear(shown.page);
	ledger_walk(&w.l, show, &shown);
}

/* Whether a piece begins at PAGE: neighbours of one owner are one piece. */
static bool
begins(size_t page)
{
	const uint32_t owner = w.page[page].owner;

	return owner != NOBODY && (!page || w.page[page - 1].owner != owner);
}

/* Whether the ledger is what the pages are. */
static bool
is_same(const char *step)
{
	show_all();
	if (shown.is_wrong)
		return FAIL("%s: a piece is empty, unknown, or before its predecessor", step);
	if (shown.nr != w.l.nr)
		return FAIL("%s: %zu pieces, said to be %zu", step, shown.nr, w.l.nr);
	for (size_t i = 0; i < NR_PAGES; i++) {
		if (shown.page[i].owner != w.page[i].owner)
			return FAIL("%s: page %zu is of %u, not %u", step, i, shown.page[i].owner,
				w.page[i].owner);
		if (shown.page[i].begins != begins(i))
			return FAIL("%s: a piece begins at page %zu: %d", step, i,
				shown.page[i].begins);
	}
	return (!w.is_outside && memcmp(w.taken, w.want_taken, sizeof w.taken) == 0) ||
		FAIL("%s: not everything that was taken was visited once", step);
}

/* ---- steps ---- */

/* A range of pages, often one that exists, sometimes empty. */
static void
some_range(size_t *start, size_t *end)
{
	*start = some(NR_PAGES);
	*end = *start + some(some(3) ? 8 : NR_PAGES);
	if (*end > NR_PAGES)
		*end = NR_PAGES;
	if (some(3))
		return;
	while (*start && w.page[*start].owner != NOBODY && !begins(*start))
		--*start;
}

static void
visit(const struct ledger_piece *p, void *arg)
{
	(void)arg;
	w.is_outside |= p->start < w.cut_start || p->end > w.cut_end;
	w.taken[p->owner] += p->end - p->start;
}

/* Take pages from all, of the ledger, too. */
static bool
take(size_t start, size_t end, bool is_visited)
{
	w.cut_start = address(start);
	w.cut_end = address(end);
	if (ledger_cut(&w.l, w.cut_start, w.cut_end, is_visited ? visit : NULL, NULL) < 0)
		return FAIL("a cut fails");
	for (size_t i = start; i < end; i++) {
		if (w.page[i].owner != NOBODY && is_visited)
			w.want_taken[w.page[i].owner] += w.at.page_bytes;
		w.page[i] = (struct page){ NOBODY, false };
	}
	return true;
}

static bool
cut(void)
{
	size_t start, end;

	some_range(&start, &end);
	if (some(9) == 0 && start) { /* no range at all */
		if (ledger_cut(&w.l, address(start), address(start - 1), visit, NULL) < 0)
			return FAIL("a cut of less than nothing fails");
		return is_same("less than nothing");
	}
	return take(start, end, some(4)) && is_same("cut");
}

static bool
add(void)
{
	const uint32_t owner = (uint32_t)some(NR_OWNERS);
	size_t start, end;

	some_range(&start, &end);
	if (!take(start, end, true) || ledger_add(&w.l, address(start), address(end), owner) < 0)
		return FAIL("an addition fails");
	for (size_t i = start; i < end; i++)
		w.page[i].owner = owner;
	return is_same("add");
}

/* One page after the other is one piece, as a heap that grows, or as mappings downwards. */
static bool
grow(void)
{
	const uint32_t owner = (uint32_t)some(NR_OWNERS);
	const size_t start = some(NR_PAGES - 10), end = start + some(10);
	const bool is_down = some(2);

	for (size_t n = start; n < end; n++) {
		const size_t i = is_down ? start + end - 1 - n : n;

		if (!take(i, i + 1, true) ||
			ledger_add(&w.l, address(i), address(i + 1), owner) < 0)
			return FAIL("an addition fails");
		w.page[i].owner = owner;
	}
	return is_same("grow");
}

static bool
move(void)
{
	struct page moved[NR_PAGES];
	size_t start, end, to, nr;

	some_range(&start, &end);
	nr = end - start;
	to = some(NR_PAGES + 1 - nr);
	if (to < end && start < to + nr)
		return true; /* the kernel refuses */
	if (!take(to, to + nr, true) ||
		ledger_move(&w.l, address(start), address(end), address(to)) < 0)
		return FAIL("a move fails");
	memcpy(moved, w.page + start, sizeof *moved * nr);
	for (size_t i = 0; i < nr; i++)
		w.page[start + i] = (struct page){ NOBODY, false };
	memcpy(w.page + to, moved, sizeof *moved * nr);
	return is_same("move");
}

static bool
step(void)
{
	const uint64_t kind = some(10);

	return kind < 4 ? add() : kind < 7 ? cut() : kind < 8 ? grow() : move();
}

static bool
try(void)
{
	bool is_good = true;

	memset(&w, 0, sizeof w);
	clear(w.page);
	w.at = places[some(sizeof places / sizeof *places)];
	for (size_t i = 0; i < STEPS && is_good; i++)
		is_good = step();
	ledger_release(&w.l);
	return is_good && (!w.l.nr && !w.l.root ? true : FAIL("something is left"));
}

/* ---- the ends of the address space, and pieces that are one ---- */

static void
test_joined(void)
{
	struct ledger l = { 0 };

	ok(ledger_add(&l, 0, 1, 0) == 0 && ledger_add(&l, 1, 2, 0) == 0 && l.nr == 1,
		"the first byte and the second are one piece");
	ok(ledger_add(&l, 2, 3, 1) == 0 && l.nr == 2, "another owner has another piece");
	ok(ledger_add(&l, 4, 5, 1) == 0 && l.nr == 3, "behind a hole there is another piece");
	ok(ledger_add(&l, UINT64_MAX - 1, UINT64_MAX, 1) == 0 &&
			ledger_add(&l, UINT64_MAX - 2, UINT64_MAX - 1, 1) == 0 && l.nr == 4,
		"the last bytes are one piece");
	ok(ledger_add(&l, 100, 100, 1) == 0 && ledger_add(&l, 200, 100, 1) == 0 && l.nr == 4,
		"nothing is no piece");
	ok(ledger_cut(&l, 0, UINT64_MAX, NULL, NULL) == 0 && l.nr == 0 && !l.root,
		"a cut of everything leaves nothing");
	ledger_release(&l);
}

static void
add_bytes(const struct ledger_piece *p, void *arg)
{
	*(uint64_t *)arg += p->end - p->start;
}

/* Pieces in an order that makes a tree without balance a list. */
static void
test_many(void)
{
	const uint64_t nr = (uint64_t)tap_share(100000);
	struct ledger l = { 0 };
	uint64_t bytes = 0, cut_bytes = 0;

	limit_cpu(300);
	for (uint64_t i = 0; i < nr; i++)
		ledger_add(&l, i * 8192, i * 8192 + 4096, (uint32_t)i);
	is_u64(l.nr, nr, "many pieces");
	ledger_walk(&l, add_bytes, &bytes);
	is_u64(bytes, nr * 4096, "many pieces have their bytes");
	ledger_cut(&l, 100, nr * 8192, add_bytes, &cut_bytes);
	is_u64(cut_bytes, bytes - 100, "a cut visits all but the first bytes");
	is_u64(l.nr, 1, "one piece is left");
	ledger_release(&l);
	limit_cpu(0);
}

int
main(int argc, char **argv)
{
	seeds_try(seeds_of(argc, argv, 400), try, "the ledger is what an array of pages is");
	test_joined();
	test_many();
	return tap_end();
}
