/*
 * The heads of what is not reached.  A depth-first search lists the blocks in the order in which
 * their searches ended.  From the last to the first, each block that no earlier one leads to is a
 * head: nothing leads to it but blocks of its own ring (Kosaraju's algorithm finds components of a
 * graph in this way).
 */
#include <config.h>

#include "census/leaks.h"

#include "base/array.h"
#include "census/chunks.h"
#include "census/edges.h"
#include "census/mark.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *
census_shape_name(enum census_shape s)
{
	static const char *const name[] = {
		[CENSUS_SINGLE] = "single",
		[CENSUS_LIST] = "list",
		[CENSUS_TREE] = "tree",
		[CENSUS_RING] = "ring",
	};

	return name[s];
}

void
census_leaks_release(struct census_leaks *l)
{
	free(l->group.v);
	free(l->type);
	*l = (struct census_leaks){ 0 };
}

static int
leaks_fail(struct err *e)
{
	return err_set(e, ENOMEM, "cannot list the unreachable blocks");
}

/* ---- the order ---- */

/* A block whose edges are being followed. */
struct leaks_step {
	uint32_t chunk, next; /* NEXT: the edge that is followed next */
};

struct leaks_search {
	struct census *c;
	uint32_t *same; /* owned; as of census_type_table_by_name(); NULL: no block has a type */
	struct {
		struct leaks_step *v;
		size_t nr, room;
	} path;
	struct census_stack ended; /* blocks in the order in which their searches ended */
	struct census_stack todo;
};

/* Return the type of CHUNK, as the first of its name. */
static uint32_t
leaks_type_of(const struct leaks_search *s, uint32_t chunk)
{
	return s->same ? s->same[s->c->type_of.v[chunk] & CENSUS_TYPE_MASK] : CENSUS_NO_TYPE;
}

static bool
is_lost(const struct census *c, uint32_t chunk)
{
	return (c->chunks.state.v[chunk] & (CENSUS_BLOCK | CENSUS_REACHED)) == CENSUS_BLOCK;
}

static int
search_enter(struct leaks_search *s, uint32_t chunk)
{
	struct leaks_step *step = array_add(&s->path);

	if (!step)
		return -1;
	step->chunk = chunk;
	s->c->chunks.state.v[chunk] |= CENSUS_SEEN;
	return 0;
}

/* Search from CHUNK; what is unreachable leads to reached blocks, too, which are left out. */
static int
search_from(struct leaks_search *s, uint32_t chunk)
{
	const uint8_t *state = s->c->chunks.state.v;

	if (search_enter(s, chunk) < 0)
		return -1;
	while (s->path.nr) {
		struct leaks_step *step = &s->path.v[s->path.nr - 1];
		uint32_t nr, *ended;
		const uint32_t *to = census_edges_of(&s->c->edges, step->chunk, &nr);

		while (step->next < nr && state[to[step->next]] & (CENSUS_SEEN | CENSUS_REACHED))
			step->next++;
		if (step->next < nr) {
			if (search_enter(s, to[step->next++]) < 0)
				return -1;
			continue;
		}
		ended = array_add(&s->ended);
		if (!ended)
			return -1;
		*ended = step->chunk;
		s->path.nr--;
	}
	return 0;
}

static int
search_all(struct leaks_search *s)
{
	for (uint32_t chunk = 0; chunk < s->c->chunks.state.nr; chunk++)
		if (is_lost(s->c, chunk) && !(s->c->chunks.state.v[chunk] & CENSUS_SEEN) &&
			search_from(s, chunk) < 0)
			return -1;
	for (size_t i = 0; i < s->ended.nr; i++)
		s->c->chunks.state.v[s->ended.v[i]] &= (uint8_t)~CENSUS_SEEN;
	return 0;
}

/* ---- heads ---- */

/* A head and the blocks below it. */
struct leaks_head {
	raddr addr;
	uint32_t type;
	uint64_t bytes;
	enum census_shape shape;
	struct census_sum all;
};

/* Add CHUNK to what hangs on HEAD. */
static void
head_add(struct leaks_head *head, const struct census *c, uint32_t chunk)
{
	struct census_cursor at;
	uint64_t bytes;

	census_chunk_find(&c->chunks, chunk, &at);
	bytes = census_block_bytes(c, &at);
	if (!head->all.blocks) {
		head->addr = at.start;
		head->bytes = bytes;
	}
	head->all.blocks++;
	head->all.bytes += bytes;
}

/* Follow the edges of CHUNK, which hangs on HEAD, the chunk FIRST. */
static int
head_follow(struct leaks_search *s, struct leaks_head *head, uint32_t first, uint32_t chunk)
{
	uint32_t nr, follower = CENSUS_NO_CHUNK;
	const uint32_t *to = census_edges_of(&s->c->edges, chunk, &nr);

	for (uint32_t i = 0; i < nr; i++) {
		if (!is_lost(s->c, to[i]))
			continue;
		if (to[i] == first)
			head->shape = CENSUS_RING;
		else if (follower != CENSUS_NO_CHUNK && follower != to[i] &&
			head->shape != CENSUS_RING)
			head->shape = CENSUS_TREE;
		else if (head->shape == CENSUS_SINGLE)
			head->shape = CENSUS_LIST;
		follower = to[i];
		if (census_stack_push(&s->todo, s->c, to[i], CENSUS_SEEN) < 0)
			return -1;
	}
	return 0;
}

/* Find what hangs on the chunk FIRST, and on no head before it. */
static int
head_find(struct leaks_search *s, uint32_t first, struct leaks_head *ret)
{
	*ret = (struct leaks_head){ .type = leaks_type_of(s, first), .shape = CENSUS_SINGLE };
	if (census_stack_push(&s->todo, s->c, first, CENSUS_SEEN) < 0)
		return -1;
	while (s->todo.nr) {
		const uint32_t chunk = s->todo.v[--s->todo.nr];

		head_add(ret, s->c, chunk);
		if (head_follow(s, ret, first, chunk) < 0)
			return -1;
	}
	return 0;
}

/* ---- groups ---- */

/* Compare the heads of two groups, first by size: negative if those of X come first. */
static int
group_compare(const struct census_group *x, const struct census_group *y)
{
	if (x->head_bytes != y->head_bytes)
		return x->head_bytes < y->head_bytes ? -1 : 1;
	if (x->shape != y->shape)
		return x->shape < y->shape ? -1 : 1;
	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	return (x->label > y->label) - (x->label < y->label);
}

/* Return the group of HEAD, which is added if it is the first of its kind; NULL without memory. */
static struct census_group *
leaks_group_of(struct census_leaks *l, const struct leaks_head *head, uint32_t label)
{
	const struct census_group wanted = {
		.shape = head->shape, .head_bytes = head->bytes, .type = head->type, .label = label
	};
	size_t from = 0, to = l->group.nr;
	struct census_group *g;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (group_compare(&l->group.v[mid], &wanted) < 0)
			from = mid + 1;
		else
			to = mid;
	}
	g = from < l->group.nr ? &l->group.v[from] : NULL;
	if (g && group_compare(g, &wanted) == 0)
		return g;
	if (!array_add(&l->group))
		return NULL;
	g = &l->group.v[from];
	memmove(g + 1, g, (l->group.nr - 1 - from) * sizeof *g);
	*g = wanted;
	return g;
}

static int
leaks_add(struct census_leaks *l, const struct leaks_head *head, const struct census_labels *labels)
{
	struct census_group *g = leaks_group_of(
		l, head, labels ? labels->of(head->addr, head->bytes, labels->arg) : 0);

	if (!g)
		return -1;
	if (g->heads < CENSUS_NR_EXAMPLES)
		g->example[g->heads] = head->addr;
	g->heads++;
	g->all.blocks += head->all.blocks;
	g->all.bytes += head->all.bytes;
	if (head->all.bytes > g->largest_bytes) {
		g->largest_bytes = head->all.bytes;
		g->largest_blocks = head->all.blocks;
	}
	l->heads++;
	l->all.blocks += head->all.blocks;
	l->all.bytes += head->all.bytes;
	return 0;
}

static int
group_by_bytes(const void *a, const void *b)
{
	const struct census_group *x = a, *y = b;

	if (x->all.bytes != y->all.bytes)
		return x->all.bytes > y->all.bytes ? -1 : 1;
	return -group_compare(x, y);
}

/* Return the first of the groups, which are in order of size, with heads of BYTES or more. */
static size_t
leaks_first_of_size(const struct census_leaks *l, uint64_t bytes)
{
	size_t from = 0, to = l->group.nr;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (l->group.v[mid].head_bytes < bytes)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* Count the blocks that have the size of each group's heads; groups are in order of size. */
static void
leaks_count_sizes(struct census_leaks *l, const struct census *c)
{
	struct census_cursor at = CENSUS_CURSOR_NONE;

	while (l->group.nr && census_chunks_next(&c->chunks, &at)) {
		const uint8_t state = c->chunks.state.v[at.chunk];
		const uint64_t bytes = census_block_bytes(c, &at);
		struct census_group *g;

		if (!(state & CENSUS_BLOCK))
			continue;
		g = &l->group.v[leaks_first_of_size(l, bytes)];
		if (g == l->group.v + l->group.nr || g->head_bytes != bytes)
			continue;
		g->same_size++;
		g->reached_same_size += (state & CENSUS_REACHED) != 0;
	}
	for (size_t i = 1; i < l->group.nr; i++) {
		struct census_group *g = &l->group.v[i];

		if (g->head_bytes != g[-1].head_bytes)
			continue;
		g->same_size = g[-1].same_size;
		g->reached_same_size = g[-1].reached_same_size;
	}
}

/* ---- blocks of a type ---- */

/* Mark CHUNK, which is unreachable, and the unreachable blocks of its type that it leads to. */
static void
leaks_mark_linked(const struct leaks_search *s, uint32_t chunk)
{
	uint8_t *state = s->c->chunks.state.v;
	const uint32_t type = leaks_type_of(s, chunk);
	uint32_t nr;
	const uint32_t *to = census_edges_of(&s->c->edges, chunk, &nr);

	for (uint32_t i = 0; type && i < nr; i++)
		if (to[i] != chunk && is_lost(s->c, to[i]) && leaks_type_of(s, to[i]) == type) {
			state[chunk] |= CENSUS_SEEN;
			state[to[i]] |= CENSUS_SEEN;
		}
}

/* Count the blocks of each type. */
static void
leaks_count_types(struct census_leaks *l, const struct leaks_search *s)
{
	uint8_t *state = s->c->chunks.state.v;

	for (uint32_t chunk = 0; chunk < s->c->chunks.state.nr; chunk++)
		if (is_lost(s->c, chunk))
			leaks_mark_linked(s, chunk);
	for (uint32_t chunk = 0; chunk < s->c->chunks.state.nr; chunk++) {
		struct census_type_blocks *type = &l->type[leaks_type_of(s, chunk)];

		if (!(state[chunk] & CENSUS_BLOCK))
			continue;
		type->all++;
		type->reached += (state[chunk] & CENSUS_REACHED) != 0;
		type->linked += (state[chunk] & CENSUS_SEEN) != 0;
		state[chunk] &= (uint8_t)~CENSUS_SEEN;
	}
}

/* Prepare the types of TABLE.  0, or -1 without memory. */
static int
leaks_begin_types(
	struct census_leaks *l, struct leaks_search *s, const struct census_type_table *table)
{
	if (!table || !s->c->type_of.nr)
		return 0;
	s->same = census_type_table_by_name(table);
	l->type = calloc(table->type.nr + 1, sizeof *l->type);
	return s->same && l->type ? 0 : -1;
}

static int
leaks_find(struct census_leaks *l, struct leaks_search *s, const struct census_labels *labels)
{
	if (search_all(s) < 0)
		return -1;
	for (size_t i = s->ended.nr; i-- > 0;) {
		struct leaks_head head;

		if (s->c->chunks.state.v[s->ended.v[i]] & CENSUS_SEEN)
			continue;
		if (head_find(s, s->ended.v[i], &head) < 0 || leaks_add(l, &head, labels) < 0)
			return -1;
	}
	for (size_t i = 0; i < s->ended.nr; i++)
		s->c->chunks.state.v[s->ended.v[i]] &= (uint8_t)~CENSUS_SEEN;
	leaks_count_sizes(l, s->c);
	if (s->same)
		leaks_count_types(l, s);
	if (l->group.nr)
		qsort(l->group.v, l->group.nr, sizeof *l->group.v, group_by_bytes);
	return 0;
}

int
census_leaks_find(struct census_leaks *l, struct census *c, const struct census_type_table *table,
	const struct census_labels *labels, struct err *e)
{
	struct leaks_search s = { .c = c };
	int failed = leaks_begin_types(l, &s, table) < 0 || leaks_find(l, &s, labels) < 0;

	free(s.same);
	free(s.path.v);
	free(s.ended.v);
	free(s.todo.v);
	if (failed) {
		census_leaks_release(l);
		return leaks_fail(e);
	}
	return 0;
}
