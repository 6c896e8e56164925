/*
 * The sums over the tree of dominators.  Sums of different levels overlap: a type does not count a
 * block that another block of the type holds already.
 */
#include <config.h>

#include "census/retained.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

struct retained_work {
	struct census_retained *r;
	const struct census *c;
	const struct census_dominators *d;
	const struct census_type_table *table;
	struct census_children children; /* owned */
	uint32_t *same;			 /* owned; of each type: the first one of that name */
	uint32_t *depth; /* owned; of each type: blocks of it above the present one */
	struct census_retained_type *type; /* owned; of each type */
};

void
census_retained_release(struct census_retained *r)
{
	free(r->owner.v);
	free(r->type.v);
	*r = (struct census_retained){ 0 };
}

/* ---- the tree ---- */

/* Return the type of the block at PLACE; CENSUS_NO_TYPE for owners. */
static uint32_t
type_at_place(const struct retained_work *w, uint32_t place)
{
	const uint32_t node = w->d->node[place], first = w->d->nr_owners + 1;

	return node < first || !w->c->type_of.nr
		? CENSUS_NO_TYPE
		: w->same[w->c->type_of.v[node - first] & CENSUS_TYPE_MASK];
}

static void
type_enter(struct retained_work *w, uint32_t place)
{
	const uint32_t type = type_at_place(w, place);
	const struct census_sum *held = &w->d->held[place];
	struct census_retained_type *sum = &w->type[type];

	if (type == CENSUS_NO_TYPE)
		return;
	sum->blocks++;
	if (w->depth[type]++)
		return;
	sum->held.blocks += held->blocks;
	sum->held.bytes += held->bytes;
	if (held->bytes > sum->largest_bytes) {
		sum->largest_bytes = held->bytes;
		sum->largest = w->d->node[place] - w->d->nr_owners - 1;
	}
}

/* Go through the tree: down to children, along siblings, and up by the dominators. */
static void
sum_types(struct retained_work *w)
{
	uint32_t place = 0;

	for (;;) {
		if (w->children.first[place]) {
			place = w->children.first[place];
			type_enter(w, place);
			continue;
		}
		while (place && !w->children.next[place]) {
			w->depth[type_at_place(w, place)]--;
			place = w->d->idom[place];
		}
		if (!place)
			return;
		w->depth[type_at_place(w, place)]--;
		place = w->children.next[place];
		type_enter(w, place);
	}
}

/* ---- results ---- */

static int
retained_more(const struct census_sum *a, const struct census_sum *b)
{
	return a->bytes != b->bytes ? (a->bytes > b->bytes ? -1 : 1) : 0;
}

static int
owner_by_bytes(const void *a, const void *b)
{
	const struct census_retained_owner *x = a, *y = b;
	const int order = retained_more(&x->held, &y->held);

	return order ? order : (x->owner > y->owner) - (x->owner < y->owner);
}

static int
type_by_bytes(const void *a, const void *b)
{
	const struct census_retained_type *x = a, *y = b;
	const int order = retained_more(&x->held, &y->held);

	return order ? order : (x->type > y->type) - (x->type < y->type);
}

static int
list_owners(struct retained_work *w)
{
	const struct census_dominators *d = w->d;

	for (uint32_t i = 0; i < d->nr_owners; i++) {
		const uint32_t place = d->place[census_owner_node(i)];
		struct census_retained_owner *added;

		if (!d->held[place].blocks)
			continue;
		added = array_add(&w->r->owner);
		if (!added)
			return -1;
		*added = (struct census_retained_owner){ i, d->held[place] };
	}
	for (uint32_t i = w->children.first[0]; i; i = w->children.next[i])
		if (d->node[i] > d->nr_owners) {
			w->r->shared.blocks += d->held[i].blocks;
			w->r->shared.bytes += d->held[i].bytes;
		}
	if (w->r->owner.nr)
		qsort(w->r->owner.v, w->r->owner.nr, sizeof *w->r->owner.v, owner_by_bytes);
	return 0;
}

static int
list_types(struct retained_work *w)
{
	for (uint32_t i = 1; i < w->table->type.nr; i++) {
		struct census_retained_type *added;

		if (!w->type[i].blocks)
			continue;
		added = array_add(&w->r->type);
		if (!added)
			return -1;
		*added = w->type[i];
		added->type = i;
	}
	if (w->r->type.nr)
		qsort(w->r->type.v, w->r->type.nr, sizeof *w->r->type.v, type_by_bytes);
	return 0;
}

static int
retained_sum(struct retained_work *w)
{
	const size_t nr_types = w->table->type.nr + 1;
	const struct census_sum *held = &w->d->held[0];

	w->same = census_type_table_by_name(w->table);
	w->depth = calloc(nr_types, sizeof *w->depth);
	w->type = calloc(nr_types, sizeof *w->type);
	if (!w->same || !w->depth || !w->type || census_children_find(&w->children, w->d) < 0)
		return -1;
	sum_types(w);
	w->r->unreachable.blocks = w->c->in_use.blocks - held->blocks;
	w->r->unreachable.bytes = w->c->in_use.bytes - held->bytes;
	return list_owners(w) < 0 || list_types(w) < 0 ? -1 : 0;
}

int
census_retained_sum(struct census_retained *r, const struct census *c,
	const struct census_dominators *d, const struct census_type_table *table, struct err *e)
{
	struct retained_work w = { .r = r, .c = c, .d = d, .table = table };
	int failed = retained_sum(&w);
	census_children_release(&w.children);
	free(w.same);
	free(w.depth);
	free(w.type);
	if (failed) {
		census_retained_release(r);
		return err_set(e, ENOMEM, "cannot sum up what is held");
	}
	return 0;
}
