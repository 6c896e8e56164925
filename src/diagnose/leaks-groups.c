#include <config.h>

#include "diagnose/leaks-groups.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

/* A head with fewer blocks is likely to be lost. */
#define MANY_BLOCKS 16

void
leaks_groups_release(struct leaks_groups *g)
{
	free(g->v);
	*g = (struct leaks_groups){ .v = NULL };
}

static int
leaks_groups_by_bytes(const struct census_group *x, const struct census_group *y)
{
	if (x->all.bytes != y->all.bytes)
		return x->all.bytes > y->all.bytes ? -1 : 1;
	if (x->head_bytes != y->head_bytes)
		return x->head_bytes > y->head_bytes ? -1 : 1;
	return (x->shape > y->shape) - (x->shape < y->shape);
}

static int
leaks_groups_compare(const void *a, const void *b)
{
	return leaks_groups_by_bytes(
		&((const struct leaks_group *)a)->sum, &((const struct leaks_group *)b)->sum);
}

static bool
is_same_kind(const struct census_group *x, const struct census_group *y)
{
	return x->head_bytes == y->head_bytes && x->shape == y->shape;
}

static int
leaks_groups_by_kind(const void *a, const void *b)
{
	const struct census_group *x = a, *y = b;

	if (x->head_bytes != y->head_bytes)
		return x->head_bytes > y->head_bytes ? -1 : 1;
	if (x->shape != y->shape)
		return x->shape > y->shape ? 1 : -1;
	if (x->all.bytes != y->all.bytes)
		return x->all.bytes > y->all.bytes ? -1 : 1;
	return (x->label > y->label) - (x->label < y->label);
}

/* Add PART to SUM, which is of the same kind. */
static void
leaks_groups_add(struct census_group *sum, const struct census_group *part)
{
	for (int i = 0, k = 0; i < CENSUS_NR_EXAMPLES && part->example[k].v; i++)
		if (!sum->example[i].v)
			sum->example[i] = part->example[k++];
	sum->heads += part->heads;
	sum->all.blocks += part->all.blocks;
	sum->all.bytes += part->all.bytes;
	if (part->largest_bytes > sum->largest_bytes) {
		sum->largest_bytes = part->largest_bytes;
		sum->largest_blocks = part->largest_blocks;
	}
}

int
leaks_groups_make(struct leaks_groups *g, struct census_leaks *l, struct err *e)
{
	if (l->group.nr)
		qsort(l->group.v, l->group.nr, sizeof *l->group.v, leaks_groups_by_kind);
	for (size_t i = 0; i < l->group.nr; i++) {
		const struct census_group *part = &l->group.v[i];
		struct leaks_group *last = g->nr ? &g->v[g->nr - 1] : NULL;

		if (last && is_same_kind(&last->sum, part)) {
			leaks_groups_add(&last->sum, part);
			last->nr++;
			continue;
		}
		last = array_add(g);
		if (!last)
			return err_set(e, ENOMEM, "cannot list the unreachable blocks");
		*last = (struct leaks_group){ *part, i, 1 };
	}
	if (g->nr)
		qsort(g->v, g->nr, sizeof *g->v, leaks_groups_compare);
	return 0;
}

bool
leaks_group_may_be_encoded(const struct leaks_group *g)
{
	return g->sum.shape != CENSUS_SINGLE && g->sum.largest_blocks >= MANY_BLOCKS &&
		g->sum.reached_same_size;
}
