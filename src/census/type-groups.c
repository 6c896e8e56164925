#include <config.h>

#include "census/type-groups.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "census/chunks.h"
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
	[NR_CENSUS_BY] = NULL,
};

/* Add GROUP; 0, or -1 without memory. */
static int
type_groups_add(struct census_type_groups *g, const struct census_type_group *group)
{
	struct census_type_group *added = array_add(&g->group);

	if (!added)
		return -1;
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
type_groups_by_module(struct census_type_groups *g, const struct census_type_table *table)
{
	const struct census_type *type = table->type.v;
	const size_t nr = table->type.nr ? table->type.nr - 1 : 0;
	auto_free uint32_t *sorted = malloc((nr + 1) * sizeof *sorted);

	g->of = calloc(nr + 1, sizeof *g->of);
	if (!sorted || !g->of || type_groups_add(g, &(struct census_type_group){ 0 }) < 0)
		return -1;
	for (size_t i = 0; i < nr; i++)
		sorted[i] = (uint32_t)i + 1;
	qsort_r(sorted, nr, sizeof *sorted, type_by_path, table->type.v);
	for (size_t i = 0; i < nr; i++) {
		const struct census_type_group group = { .path = type[sorted[i]].path,
			.has_type = true };

		if ((!i || type_by_path(&sorted[i - 1], &sorted[i], table->type.v) != 0) &&
			type_groups_add(g, &group) < 0)
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
type_groups_by_arena(
	struct census_type_groups *g, const struct census_chunks *c, const struct heap *heap)
{
	g->of = calloc(c->extent.nr + 1, sizeof *g->of);
	if (!g->of || type_groups_add(g, &(struct census_type_group){ 0 }) < 0)
		return -1;
	for (size_t i = 0; i < heap->arena.nr; i++)
		if (type_groups_add(g, &(struct census_type_group){ .arena = &heap->arena.v[i] }) <
			0)
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
type_groups_by_size(struct census_type_groups *g)
{
	for (unsigned int i = 0; i < HEAP_NR_SIZES; i++) {
		const struct census_type_group group = {
			.from_bytes = heap_size_from(i),
			.to_bytes = i + 1 < HEAP_NR_SIZES ? heap_size_from(i + 1) - 1 : UINT64_MAX,
		};

		if (type_groups_add(g, &group) < 0)
			return -1;
	}
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
	default:
		return heap_size_class(census_block_bytes(g->c, at));
	}
}

struct census_grouping
census_type_groups_rule(struct census_type_groups *g)
{
	return (struct census_grouping){ (uint32_t)g->group.nr, type_groups_find, g };
}

int
census_type_groups_make(struct census_type_groups *g, enum census_by by, const struct census *c,
	const struct census_type_table *table, const struct heap *heap, struct err *e)
{
	int failed = 0;

	g->by = by;
	g->c = c;
	if (by == CENSUS_BY_MODULE)
		failed = type_groups_by_module(g, table);
	else if (by == CENSUS_BY_ARENA)
		failed = type_groups_by_arena(g, &c->chunks, heap);
	else if (by == CENSUS_BY_SIZE)
		failed = type_groups_by_size(g);
	return failed ? err_set(e, ENOMEM, "cannot list the groups of blocks") : 0;
}

void
census_type_groups_release(struct census_type_groups *g)
{
	free(g->group.v);
	free(g->of);
	*g = (struct census_type_groups){ 0 };
}
