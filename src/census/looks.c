/*
 * A look at a running process takes many blocks for unreachable: one that moves from a list to
 * another while both are read is in neither.  In the next look it is in its list, or has other
 * contents.
 */
#include <config.h>

#include "census/looks.h"

#include "base/array.h"
#include "census/chunks.h"
#include "census/mark.h"

#include <errno.h>
#include <stdlib.h>

void
census_looks_release(struct census_looks *l)
{
	free(l->lost.v);
	*l = (struct census_looks){ .nr = 0 };
}

static int
looks_fail(struct err *e)
{
	return err_set(e, ENOMEM, "cannot list the unreachable blocks");
}

static int
lost_by_address(const void *a, const void *b)
{
	const struct census_lost *x = a, *y = b;

	return (x->addr.v > y->addr.v) - (x->addr.v < y->addr.v);
}

/* Return whether the looks so far have LOST. */
static bool
looks_have(const struct census_looks *l, const struct census_lost *lost)
{
	const struct census_lost *found = l->lost.nr
		? bsearch(lost, l->lost.v, l->lost.nr, sizeof *lost, lost_by_address)
		: NULL;

	return !l->nr || (found && found->bytes == lost->bytes && found->hash == lost->hash);
}

/* Put the unreachable blocks of C that L has into NOW, and the others into MOVED. */
static int
looks_compare(const struct census_looks *l, const struct census *c, struct census_looks *now,
	struct census_stack *moved)
{
	struct census_cursor at = CENSUS_CURSOR_NONE;

	while (census_chunks_next(&c->chunks, &at)) {
		const uint8_t state = c->chunks.state.v[at.chunk];
		const struct census_lost lost = { at.start, census_block_bytes(c, &at),
			c->hash.v[at.chunk], at.chunk };
		struct census_lost *added;
		uint32_t *chunk;

		if ((state & (CENSUS_BLOCK | CENSUS_REACHED)) != CENSUS_BLOCK)
			continue;
		if (looks_have(l, &lost)) {
			added = array_add(&now->lost);
			if (!added)
				return -1;
			*added = lost;
			continue;
		}
		chunk = array_add(moved);
		if (!chunk)
			return -1;
		*chunk = at.chunk;
	}
	return 0;
}

/* Drop the blocks that are reached by now. */
static void
looks_drop_reached(struct census_looks *l, const struct census *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->lost.nr; i++)
		if (!(c->chunks.state.v[l->lost.v[i].chunk] & CENSUS_REACHED))
			l->lost.v[kept++] = l->lost.v[i];
	l->lost.nr = kept;
}

int
census_looks_add(struct census_looks *l, struct census *c, struct err *e)
{
	auto_census_looks struct census_looks now = { .nr = l->nr + 1 };
	struct census_stack moved = { 0 };
	int failed = looks_compare(l, c, &now, &moved) < 0 ? looks_fail(e)
							   : census_mark_from(&moved, c, e);

	free(moved.v);
	if (failed)
		return -1;
	looks_drop_reached(&now, c);
	if (now.lost.nr)
		qsort(now.lost.v, now.lost.nr, sizeof *now.lost.v, lost_by_address);
	now.removed = l->nr ? l->lost.nr - now.lost.nr : 0;
	census_looks_release(l);
	*l = now;
	now = (struct census_looks){ .nr = 0 };
	return 0;
}
