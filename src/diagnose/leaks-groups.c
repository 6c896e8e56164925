#include <config.h>

#include "diagnose/leaks-groups.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

/* A head with fewer blocks is likely to be lost; so are fewer blocks of a type. */
#define MANY_BLOCKS 16
/* Nearly all of these are linked with each other if it is at least this part. */
#define LINKED_PERCENT 90

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
	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	return (x->shape > y->shape) - (x->shape < y->shape);
}

static int
leaks_groups_compare(const void *a, const void *b)
{
	return leaks_groups_by_bytes(
		&((const struct leaks_group *)a)->sum, &((const struct leaks_group *)b)->sum);
}

/* Compare the kinds of two groups: the type, or else the size, and the shape. */
static int
leaks_groups_kind(const struct census_group *x, const struct census_group *y)
{
	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	if (!x->type && x->head_bytes != y->head_bytes)
		return x->head_bytes > y->head_bytes ? -1 : 1;
	return (x->shape > y->shape) - (x->shape < y->shape);
}

/* Bring parts of one label together. */
static int
leaks_groups_by_label(const void *a, const void *b)
{
	const struct census_group *x = a, *y = b;
	const int order = leaks_groups_kind(x, y);

	if (order)
		return order;
	if (x->label != y->label)
		return x->label < y->label ? -1 : 1;
	return (x->head_bytes < y->head_bytes) - (x->head_bytes > y->head_bytes);
}

static int
leaks_groups_by_kind(const void *a, const void *b)
{
	const struct census_group *x = a, *y = b;
	const int order = leaks_groups_kind(x, y);

	if (order)
		return order;
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
	if (sum->head_bytes != part->head_bytes)
		sum->head_bytes = sum->same_size = sum->reached_same_size = 0;
	sum->heads += part->heads;
	sum->all.blocks += part->all.blocks;
	sum->all.bytes += part->all.bytes;
	if (part->largest_bytes > sum->largest_bytes) {
		sum->largest_bytes = part->largest_bytes;
		sum->largest_blocks = part->largest_blocks;
	}
}

/* Join the parts of L that differ only in the sizes of their heads, which are of one type. */
static void
leaks_groups_join(struct census_leaks *l)
{
	size_t kept = 0;

	if (l->group.nr)
		qsort(l->group.v, l->group.nr, sizeof *l->group.v, leaks_groups_by_label);
	for (size_t i = 0; i < l->group.nr; i++) {
		const struct census_group part = l->group.v[i];
		struct census_group *last = kept ? &l->group.v[kept - 1] : NULL;

		if (last && leaks_groups_kind(last, &part) == 0 && last->label == part.label)
			leaks_groups_add(last, &part);
		else
			l->group.v[kept++] = part;
	}
	l->group.nr = kept;
}

int
leaks_groups_make(struct leaks_groups *g, struct census_leaks *l, struct err *e)
{
	leaks_groups_join(l);
	if (l->group.nr)
		qsort(l->group.v, l->group.nr, sizeof *l->group.v, leaks_groups_by_kind);
	for (size_t i = 0; i < l->group.nr; i++) {
		const struct census_group *part = &l->group.v[i];
		struct leaks_group *last = g->nr ? &g->v[g->nr - 1] : NULL;

		if (last && leaks_groups_kind(&last->sum, part) == 0) {
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

const struct census_type_blocks *
leaks_group_type(const struct leaks_group *g, const struct census_leaks *l)
{
	return g->sum.type ? &l->type[g->sum.type] : NULL;
}

bool
leaks_group_may_be_encoded(const struct leaks_group *g, const struct census_leaks *l)
{
	const struct census_type_blocks *type = leaks_group_type(g, l);

	if (type) {
		const uint64_t lost = type->all - type->reached;

		return lost >= MANY_BLOCKS &&
			(type->reached || 100 * type->linked >= LINKED_PERCENT * lost);
	}
	return g->sum.shape != CENSUS_SINGLE && g->sum.largest_blocks >= MANY_BLOCKS &&
		g->sum.reached_same_size;
}
