/*
 * Types and owners.  The search for owners goes step by step from all blocks with a type at
 * once, so that the nearest one gets a block.
 */
#include <config.h>

#include "census/types.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "census/chunks.h"
#include "census/edges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The owner of a block that a global variable leads to. */
#define OWNER_GLOBAL UINT32_MAX

struct types_sum {
	struct census_type_sums *s;
	struct census *c;
	const struct census_type_table *table;
	const struct census_grouping *by; /* or NULL */
	struct census_type_row *row;	  /* owned; of each type of the table */
	uint32_t *owner;		  /* owned; of each chunk: a type, OWNER_GLOBAL, or 0 */
	struct owner_list {
		uint32_t *v;
		size_t nr, room;
	} now, next; /* chunks whose edges are followed in this step, and in the next */
};

static uint32_t
types_type_of(const struct types_sum *s, uint32_t chunk)
{
	return s->c->type_of.v[chunk] & CENSUS_TYPE_MASK;
}

static int
owner_push(struct owner_list *l, uint32_t chunk)
{
	uint32_t *added = array_add(l);

	if (!added)
		return -1;
	*added = chunk;
	return 0;
}

/* ---- owners ---- */

/* Give what CHUNK leads to, and has no type and no owner, to OWNER. */
static int
owner_follow(struct types_sum *s, uint32_t chunk, uint32_t owner)
{
	uint32_t nr;
	const uint32_t *to = census_edges_of(&s->c->edges, chunk, &nr);

	for (uint32_t i = 0; i < nr; i++) {
		if (types_type_of(s, to[i]) || s->owner[to[i]])
			continue;
		s->owner[to[i]] = owner;
		if (owner_push(&s->next, to[i]) < 0)
			return -1;
	}
	return 0;
}

/* Follow the edges of all chunks in NOW, which have owners, for STEPS steps. */
static int
owners_spread(struct types_sum *s, int steps)
{
	for (int step = 0; step < steps && s->now.nr; step++) {
		struct owner_list done = s->now;

		for (size_t i = 0; i < done.nr; i++) {
			const uint32_t chunk = done.v[i];
			const uint32_t type = types_type_of(s, chunk);

			if (owner_follow(s, chunk, type ? type : s->owner[chunk]) < 0)
				return -1;
		}
		s->now = s->next;
		s->next = done;
		s->next.nr = 0;
	}
	s->now.nr = 0;
	return 0;
}

/* Give what the roots of KIND lead to, and has no type and no owner, to its owner. */
static int
take_roots(struct types_sum *s, enum census_root_kind kind)
{
	const struct census *c = s->c;

	for (size_t i = 0; i < c->roots.root.nr; i++) {
		const struct census_root *root = &c->roots.root.v[i];
		const struct census_range *range = &c->roots.range.v[root->range];

		if (range->kind != kind || types_type_of(s, root->to) || s->owner[root->to] ||
			(kind == CENSUS_OBJECT && !range->type))
			continue;
		s->owner[root->to] = kind == CENSUS_OBJECT ? range->type : OWNER_GLOBAL;
		if (owner_push(&s->now, root->to) < 0)
			return -1;
	}
	return 0;
}

static int
find_owners(struct types_sum *s)
{
	const struct census *c = s->c;

	for (uint32_t chunk = 0; chunk < c->chunks.state.nr; chunk++)
		if (types_type_of(s, chunk) && owner_push(&s->now, chunk) < 0)
			return -1;
	if (take_roots(s, CENSUS_OBJECT) < 0 || owners_spread(s, CENSUS_OWNER_STEPS) < 0 ||
		take_roots(s, CENSUS_GLOBAL) < 0)
		return -1;
	return owners_spread(s, CENSUS_OWNER_STEPS - 1);
}

/* ---- sums ---- */

static void
sum_add(struct census_sum *s, uint64_t bytes)
{
	s->blocks++;
	s->bytes += bytes;
}

static void
row_add(struct types_sum *s, uint32_t type, const struct census_cursor *at, uint64_t bytes)
{
	struct census_type_row *row = &s->row[type];

	if (row->own.blocks < CENSUS_TYPE_EXAMPLES)
		row->example[row->own.blocks] = at->start;
	sum_add(&row->own, bytes);
	if (bytes > row->largest_bytes)
		row->largest_bytes = bytes;
	row->inner_blocks += s->c->type_of.v[at->chunk] >> CENSUS_TYPE_BITS != 0;
}

/* Return the sum of K for blocks of TYPE, or of no type and with OWNER. */
static struct census_sum *
types_known_sum(struct census_known *k, uint32_t type, uint32_t owner)
{
	if (type)
		return &k->proven;
	if (owner == OWNER_GLOBAL)
		return &k->global;
	return owner ? &k->inferred : &k->unknown;
}

static void
types_add_block(struct types_sum *s, const struct census_cursor *at)
{
	const uint64_t bytes = census_block_bytes(s->c, at);
	const uint32_t type = types_type_of(s, at->chunk), owner = s->owner[at->chunk];
	const uint32_t below = owner == OWNER_GLOBAL ? CENSUS_NO_TYPE : owner;

	if (type)
		row_add(s, type, at, bytes);
	else if (below)
		sum_add(&s->row[below].below, bytes);
	sum_add(types_known_sum(&s->s->known, type, owner), bytes);
	if (s->by) {
		const uint32_t group = s->by->of(at, type ? type : below, s->by->arg);

		sum_add(types_known_sum(&s->s->group[group], type, owner), bytes);
	}
}

/* A class has several vtables if it has several bases, or is in several objects. */
static int
row_by_name(const void *a, const void *b, void *arg)
{
	const struct census_type_row *x = a, *y = b;
	const struct census_type *type = arg;
	const int order = strcmp(type[x->type].name, type[y->type].name);

	if (order)
		return order;
	if (type[x->type].evidence != type[y->type].evidence)
		return type[x->type].evidence < type[y->type].evidence ? -1 : 1;
	return (x->type > y->type) - (x->type < y->type);
}

static void
sum_join(struct census_sum *to, const struct census_sum *from)
{
	to->blocks += from->blocks;
	to->bytes += from->bytes;
}

/* Add FROM, of the same name, to TO. */
static void
row_join(struct census_type_row *to, const struct census_type_row *from)
{
	for (uint64_t i = to->own.blocks, k = 0; i < CENSUS_TYPE_EXAMPLES; i++, k++)
		to->example[i] = from->example[k];
	sum_join(&to->own, &from->own);
	sum_join(&to->below, &from->below);
	sum_join(&to->pooled, &from->pooled);
	to->inner_blocks += from->inner_blocks;
	if (from->largest_bytes > to->largest_bytes)
		to->largest_bytes = from->largest_bytes;
}

struct census_sum
census_known_sum(const struct census_known *k)
{
	struct census_sum all = k->proven;

	sum_join(&all, &k->inferred);
	sum_join(&all, &k->global);
	sum_join(&all, &k->unknown);
	return all;
}

/* Join the rows of types with one name and one kind of evidence. */
static void
join_rows(struct types_sum *s)
{
	struct census_type_sums *sums = s->s;
	const struct census_type *type = s->table->type.v;
	size_t kept = 0;

	if (sums->row.nr)
		qsort_r(sums->row.v, sums->row.nr, sizeof *sums->row.v, row_by_name,
			s->table->type.v);
	for (size_t i = 0; i < sums->row.nr; i++) {
		struct census_type_row *last = kept ? &sums->row.v[kept - 1] : NULL;
		const struct census_type_row *row = &sums->row.v[i];

		if (last && type[last->type].evidence == type[row->type].evidence &&
			strcmp(type[last->type].name, type[row->type].name) == 0)
			row_join(last, row);
		else
			sums->row.v[kept++] = *row;
	}
	sums->row.nr = kept;
}

static int
row_by_bytes(const void *a, const void *b)
{
	const struct census_type_row *x = a, *y = b;
	const uint64_t x_bytes = x->own.bytes + x->below.bytes;
	const uint64_t y_bytes = y->own.bytes + y->below.bytes;

	if (x_bytes != y_bytes)
		return x_bytes > y_bytes ? -1 : 1;
	return (x->type > y->type) - (x->type < y->type);
}

static int
types_sum(struct types_sum *s)
{
	struct census_cursor at = CENSUS_CURSOR_NONE;

	s->row = calloc(s->table->type.nr + 1, sizeof *s->row);
	s->owner = calloc(s->c->chunks.state.nr + 1, sizeof *s->owner);
	if (s->by)
		s->s->group = calloc(s->by->nr + 1, sizeof *s->s->group);
	if (!s->row || !s->owner || (s->by && !s->s->group) || find_owners(s) < 0)
		return -1;
	while (census_chunks_next(&s->c->chunks, &at))
		if (s->c->chunks.state.v[at.chunk] & CENSUS_BLOCK)
			types_add_block(s, &at);
	for (uint32_t type = 1; type < s->table->type.nr; type++) {
		struct census_type_row *added;

		if (type < s->c->pooled.nr)
			s->row[type].pooled = s->c->pooled.v[type];
		if (!s->row[type].own.blocks && !s->row[type].pooled.blocks)
			continue;
		added = array_add(&s->s->row);
		if (!added)
			return -1;
		*added = s->row[type];
		added->type = type;
	}
	join_rows(s);
	if (s->s->row.nr)
		qsort(s->s->row.v, s->s->row.nr, sizeof *s->s->row.v, row_by_bytes);
	return 0;
}

int
census_types_sum(struct census_type_sums *sums, struct census *c,
	const struct census_type_table *table, const struct census_grouping *by, struct err *e)
{
	struct types_sum s = { .s = sums, .c = c, .table = table, .by = by };
	int failed = types_sum(&s);

	free(s.row);
	free(s.owner);
	free(s.now.v);
	free(s.next.v);
	if (failed) {
		census_type_sums_release(sums);
		return err_set(e, ENOMEM, "cannot sum up the types of blocks");
	}
	return 0;
}

void
census_type_sums_release(struct census_type_sums *s)
{
	free(s->row.v);
	free(s->group);
	*s = (struct census_type_sums){ 0 };
}
