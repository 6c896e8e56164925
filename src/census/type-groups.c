#include <config.h>

#include "census/type-groups.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "census/chunks.h"
#include "census/reach.h"
#include "heap/heap.h"
#include "heap/walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const census_by_names[] = {
	[CENSUS_BY_TYPE] = "type",
	[CENSUS_BY_MODULE] = "module",
	[CENSUS_BY_ARENA] = "arena",
	[CENSUS_BY_SIZE] = "size",
	[CENSUS_BY_CONTENTS] = "contents",
	[CENSUS_BY_HOLDER] = "holder",
	[NR_CENSUS_BY] = NULL,
};

static int
type_groups_fail(struct err *e)
{
	return err_set(e, ENOMEM, "cannot list the groups of blocks");
}

/* Add GROUP; 0, or -1 with E. */
static int
type_groups_add(struct census_type_groups *g, const struct census_type_group *group, struct err *e)
{
	struct census_type_group *added = array_add(&g->group);

	if (!added)
		return type_groups_fail(e);
	*added = *group;
	return 0;
}

/* ---- modules ---- */

static int
type_by_path(const void *a, const void *b, void *arg)
{
	const uint32_t *x = a, *y = b;
	const struct census_type *type = arg;
	const char *x_path = type[*x].path, *y_path = type[*y].path;

	return strcmp(x_path ? x_path : "", y_path ? y_path : "");
}

/* Make the group 0 of blocks without a type, and one of each path in TABLE. */
static int
type_groups_by_module(
	struct census_type_groups *g, const struct census_type_table *table, struct err *e)
{
	const struct census_type *type = table->type.v;
	const size_t nr = table->type.nr ? table->type.nr - 1 : 0;
	auto_free uint32_t *sorted = malloc((nr + 1) * sizeof *sorted);

	g->of = calloc(nr + 1, sizeof *g->of);
	if (!sorted || !g->of)
		return type_groups_fail(e);
	if (type_groups_add(g, &(struct census_type_group){ 0 }, e) < 0)
		return -1;
	for (size_t i = 0; i < nr; i++)
		sorted[i] = (uint32_t)i + 1;
	qsort_r(sorted, nr, sizeof *sorted, type_by_path, table->type.v);
	for (size_t i = 0; i < nr; i++) {
		const struct census_type_group group = { .path = type[sorted[i]].path,
			.has_type = true };

		if ((!i || type_by_path(&sorted[i - 1], &sorted[i], table->type.v) != 0) &&
			type_groups_add(g, &group, e) < 0)
			return -1;
		g->of[sorted[i]] = (uint32_t)g->group.nr - 1;
	}
	return 0;
}

/* ---- arenas ---- */

/* Return the arena of HEAP that has ADDR; NULL: none has. */
static const struct heap_arena *
type_groups_arena_at(const struct heap *heap, raddr addr)
{
	for (size_t i = 0; i < heap->arena.nr; i++) {
		const struct heap_arena *a = &heap->arena.v[i];

		for (size_t k = 0; k < a->segment.nr; k++)
			if (addr.v >= a->segment.v[k].start.v && addr.v < a->segment.v[k].end.v)
				return a;
	}
	return NULL;
}

/* Make the group 0 of blocks with separate mappings, and one of each arena. */
static int
type_groups_by_arena(struct census_type_groups *g, const struct census_chunks *c,
	const struct heap *heap, struct err *e)
{
	g->of = calloc(c->extent.nr + 1, sizeof *g->of);
	if (!g->of)
		return type_groups_fail(e);
	if (type_groups_add(g, &(struct census_type_group){ 0 }, e) < 0)
		return -1;
	for (size_t i = 0; i < heap->arena.nr; i++)
		if (type_groups_add(
			    g, &(struct census_type_group){ .arena = &heap->arena.v[i] }, e) < 0)
			return -1;
	for (size_t i = 0; i < c->extent.nr; i++) {
		const struct heap_arena *a = type_groups_arena_at(heap, c->extent.v[i].start);

		g->of[i] = a ? (uint32_t)(a - heap->arena.v) + 1 : 0;
	}
	return 0;
}

/* ---- sizes ---- */

/* Make the groups that 'memdiag heap' has for chunks. */
static int
type_groups_by_size(struct census_type_groups *g, struct err *e)
{
	for (unsigned int i = 0; i < HEAP_NR_SIZES; i++) {
		const struct census_type_group group = {
			.from_bytes = heap_size_from(i),
			.to_bytes = i + 1 < HEAP_NR_SIZES ? heap_size_from(i + 1) - 1 : UINT64_MAX,
		};

		if (type_groups_add(g, &group, e) < 0)
			return -1;
	}
	return 0;
}

/* ---- contents ---- */

static int
type_groups_by_contents(struct census_type_groups *g, const struct census *c, struct err *e)
{
	for (int i = 0; i < NR_CENSUS_CONTENTS; i++)
		if (type_groups_add(g,
			    &(struct census_type_group){ .contents = (enum census_contents)i },
			    e) < 0)
			return -1;
	g->of = census_contents_find(c, e);
	return g->of ? 0 : -1;
}

/* ---- holders ---- */

/* Make the group 0 of blocks that nothing leads to, and one of each owner. */
static int
type_groups_by_holder(
	struct census_type_groups *g, const struct census_groups_from *from, struct err *e)
{
	auto_census_reach struct census_reach reach = { 0 };

	if (census_owners_find(&g->owners, from->c, from->objects, e) < 0 ||
		census_reach_all(&reach, from->c, &g->owners, e) < 0)
		return -1;
	g->of = census_reach_owners(&reach, from->c, e);
	if (!g->of || type_groups_add(g, &(struct census_type_group){ 0 }, e) < 0)
		return -1;
	for (size_t i = 0; i < g->owners.owner.nr; i++)
		if (type_groups_add(g,
			    &(struct census_type_group){ .owner = &g->owners.owner.v[i] }, e) < 0)
			return -1;
	return 0;
}

/* ---- all of them ---- */

static uint32_t
type_groups_find(const struct census_cursor *at, uint32_t type, void *arg)
{
	const struct census_type_groups *g = arg;

	switch (g->by) {
	case CENSUS_BY_MODULE:
		return g->of[type];
	case CENSUS_BY_ARENA:
		return g->of[at->extent];
	case CENSUS_BY_SIZE:
		return heap_size_class(census_block_bytes(g->c, at));
	default:
		return g->of[at->chunk];
	}
}

struct census_grouping
census_type_groups_rule(struct census_type_groups *g)
{
	return (struct census_grouping){ (uint32_t)g->group.nr, type_groups_find, g };
}

int
census_type_groups_make(struct census_type_groups *g, enum census_by by,
	const struct census_groups_from *from, struct err *e)
{
	g->by = by;
	g->c = from->c;
	switch (by) {
	case CENSUS_BY_MODULE:
		return type_groups_by_module(g, from->table, e);
	case CENSUS_BY_ARENA:
		return type_groups_by_arena(g, &from->c->chunks, from->heap, e);
	case CENSUS_BY_SIZE:
		return type_groups_by_size(g, e);
	case CENSUS_BY_CONTENTS:
		return type_groups_by_contents(g, from->c, e);
	case CENSUS_BY_HOLDER:
		return type_groups_by_holder(g, from, e);
	default:
		return 0;
	}
}

void
census_type_groups_release(struct census_type_groups *g)
{
	free(g->group.v);
	free(g->of);
	census_owners_release(&g->owners);
	*g = (struct census_type_groups){ 0 };
}
