#include <config.h>

#include "trace/ledger.h"

#include <search.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"

/* Compare pieces; overlapping pieces count as equal, as those of a ledger never overlap. */
static int
ledger_compare(const void *a, const void *b)
{
	const struct ledger_piece *x = a, *y = b;

	return x->end <= y->start ? -1 : x->start >= y->end;
}

/* Return any piece that overlaps [START, END), or NULL. */
static struct ledger_piece *
ledger_find(const struct ledger *l, uint64_t start, uint64_t end)
{
	const struct ledger_piece key = { .start = start, .end = end };
	struct ledger_piece **found = tfind(&key, &l->root, ledger_compare);

	return found ? *found : NULL;
}

static void
ledger_free_piece(void *p)
{
	free(p);
}

void
ledger_release(struct ledger *l)
{
	tdestroy(l->root, ledger_free_piece);
	*l = (struct ledger){ 0 };
}

static void
remove_piece(struct ledger *l, struct ledger_piece *p)
{
	tdelete(p, &l->root, ledger_compare);
	free(p);
	l->nr--;
}

/*
 * Join [START, END) with adjacent pieces of OWNER: a heap grows upwards, and mmap() places each
 * mapping below the previous one.  Return false if no such piece exists.
 */
static bool
ledger_join(struct ledger *l, uint64_t start, uint64_t end, uint32_t owner)
{
	struct ledger_piece *before = start ? ledger_find(l, start - 1, start) : NULL;
	struct ledger_piece *after = end < UINT64_MAX ? ledger_find(l, end, end + 1) : NULL;
	const bool follows = before && before->owner == owner;

	if (!after || after->owner != owner) {
		if (follows)
			before->end = end;
		return follows;
	}
	if (!follows) {
		after->start = start;
		return true;
	}
	end = after->end;
	remove_piece(l, after);
	before->end = end;
	return true;
}

int
ledger_add(struct ledger *l, uint64_t start, uint64_t end, uint32_t owner)
{
	struct ledger_piece *p;

	if (start >= end || ledger_join(l, start, end, owner))
		return 0;
	p = malloc(sizeof *p);
	if (!p)
		return -1;
	*p = (struct ledger_piece){ start, end, owner };
	if (!tsearch(p, &l->root, ledger_compare)) {
		free(p);
		return -1;
	}
	l->nr++;
	return 0;
}

/* Remove [START, END), which is a part of P, from it. */
static int
cut_piece(struct ledger *l, struct ledger_piece *p, uint64_t start, uint64_t end)
{
	const struct ledger_piece whole = *p;

	/* The order of pieces does not change, so the rest keeps its place in the tree. */
	if (start > whole.start) {
		p->end = start;
		return end < whole.end ? ledger_add(l, end, whole.end, whole.owner) : 0;
	}
	if (end < whole.end) {
		p->start = end;
		return 0;
	}
	remove_piece(l, p);
	return 0;
}

int
ledger_cut(struct ledger *l, uint64_t start, uint64_t end, ledger_visit *visit, void *arg)
{
	struct ledger_piece *p;
	int status = 0;

	while (start < end && (p = ledger_find(l, start, end))) {
		const struct ledger_piece part = { p->start > start ? p->start : start,
			p->end < end ? p->end : end, p->owner };

		status |= cut_piece(l, p, part.start, part.end);
		if (visit)
			visit(&part, arg);
	}
	return status;
}

/* ---- moving ---- */

struct ledger_pieces {
	struct ledger_piece *v;
	size_t nr, room;
	int failed;
};

static void
ledger_keep(const struct ledger_piece *p, void *arg)
{
	struct ledger_pieces *kept = arg;
	struct ledger_piece *added = array_add(kept);

	if (added)
		*added = *p;
	else
		kept->failed = -1;
}

int
ledger_move(struct ledger *l, uint64_t start, uint64_t end, uint64_t to)
{
	struct ledger_pieces moved = { 0 };
	int status = ledger_cut(l, start, end, ledger_keep, &moved);

	for (size_t i = 0; i < moved.nr; i++)
		status |= ledger_add(l, moved.v[i].start - start + to, moved.v[i].end - start + to,
			moved.v[i].owner);
	free(moved.v);
	return status | moved.failed;
}

/* ---- walking ---- */

struct ledger_walk {
	ledger_visit *visit;
	void *arg;
};

static void
walk_node(const void *node, VISIT which, void *arg)
{
	const struct ledger_walk *w = arg;
	struct ledger_piece *const *p = node;

	if (which == postorder || which == leaf)
		w->visit(*p, w->arg);
}

void
ledger_walk(const struct ledger *l, ledger_visit *visit, void *arg)
{
	struct ledger_walk w = { visit, arg };

	twalk_r(l->root, walk_node, &w);
}
