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
	struct {
		struct leaks_step *v;
		size_t nr, room;
	} path;
	struct census_stack ended; /* blocks in the order in which their searches ended */
	struct census_stack todo;
};

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
	*ret = (struct leaks_head){ .shape = CENSUS_SINGLE };
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

/* Return the group of HEAD, which is added if it is the first of its kind; NULL without memory. */
static struct census_group *
leaks_group_of(struct census_leaks *l, const struct leaks_head *head)
{
	size_t from = 0, to = l->group.nr;

	while (from < to) {
		size_t mid = from + (to - from) / 2;
		const struct census_group *g = &l->group.v[mid];

		if (g->head_bytes < head->bytes ||
			(g->head_bytes == head->bytes && g->shape < head->shape))
			from = mid + 1;
		else
			to = mid;
	}
	if (from < l->group.nr && l->group.v[from].head_bytes == head->bytes &&
		l->group.v[from].shape == head->shape)
		return &l->group.v[from];
	if (!array_add(&l->group))
		return NULL;
	memmove(&l->group.v[from + 1], &l->group.v[from],
		(l->group.nr - 1 - from) * sizeof *l->group.v);
	l->group.v[from] = (struct census_group){ .shape = head->shape, .head_bytes = head->bytes };
	return &l->group.v[from];
}

static int
leaks_add(struct census_leaks *l, const struct leaks_head *head)
{
	struct census_group *g = leaks_group_of(l, head);

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
	if (x->head_bytes != y->head_bytes)
		return x->head_bytes > y->head_bytes ? -1 : 1;
	return (x->shape > y->shape) - (x->shape < y->shape);
}

static int
leaks_find(struct census_leaks *l, struct leaks_search *s)
{
	if (search_all(s) < 0)
		return -1;
	for (size_t i = s->ended.nr; i-- > 0;) {
		struct leaks_head head;

		if (s->c->chunks.state.v[s->ended.v[i]] & CENSUS_SEEN)
			continue;
		if (head_find(s, s->ended.v[i], &head) < 0 || leaks_add(l, &head) < 0)
			return -1;
	}
	for (size_t i = 0; i < s->ended.nr; i++)
		s->c->chunks.state.v[s->ended.v[i]] &= (uint8_t)~CENSUS_SEEN;
	if (l->group.nr)
		qsort(l->group.v, l->group.nr, sizeof *l->group.v, group_by_bytes);
	return 0;
}

int
census_leaks_find(struct census_leaks *l, struct census *c, struct err *e)
{
	struct leaks_search s = { .c = c };
	int failed = leaks_find(l, &s);

	free(s.path.v);
	free(s.ended.v);
	free(s.todo.v);
	if (failed) {
		census_leaks_release(l);
		return leaks_fail(e);
	}
	return 0;
}
