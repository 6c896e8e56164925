/* Marking: a list instead of recursion, as a chain may have millions of blocks. */
#include <config.h>

#include "census/mark.h"

#include "base/array.h"
#include "census/edges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int
census_stack_push(struct census_stack *s, struct census *c, uint32_t chunk, uint8_t flag)
{
	uint32_t *added;

	if (c->chunks.state.v[chunk] & flag)
		return 0;
	added = array_add(s);
	if (!added)
		return -1;
	c->chunks.state.v[chunk] |= flag;
	*added = chunk;
	return 0;
}

/*
 * Each step of a search needs memory at a random place that the step before shows: a cache miss.
 * So this many blocks are under way at the same time, in two stages: the states and the places
 * of the edges of some are being fetched, and the edges of others.
 */
#define NR_UNDER_WAY 16

struct mark_work {
	uint32_t chunk; /* CENSUS_NO_CHUNK: none */
	uint32_t nr;	/* of the edges at TO, of another block */
	const uint32_t *to;
};

/*
 * Add the blocks that W's many edges lead to, each of them once: a table of 100 million pointers
 * may lead to a few blocks.  CENSUS_SEEN: it is in the list.
 */
static int
mark_take_many(struct census_stack *s, struct census *c, struct mark_work *w)
{
	for (; w->nr; w->nr--, w->to++)
		if (!(c->chunks.state.v[*w->to] & CENSUS_REACHED) &&
			census_stack_push(s, c, *w->to, CENSUS_SEEN) < 0)
			return -1;
	return 0;
}

/* Add the blocks that W's edges lead to, also those that have been reached already. */
static int
mark_take_edges(struct census_stack *s, struct census *c, struct mark_work *w)
{
	if (w->nr >= CENSUS_WIDE)
		return mark_take_many(s, c, w);
	if (s->room - s->nr < w->nr && array_reserve(s, 2 * s->room + w->nr) < 0)
		return -1;
	memcpy(s->v + s->nr, w->to, w->nr * sizeof *w->to);
	s->nr += w->nr;
	w->nr = 0;
	return 0;
}

/* Mark W's block, and begin to fetch its edges. */
static void
mark_take_chunk(struct census *c, struct mark_work *w)
{
	uint8_t *state = &c->chunks.state.v[w->chunk];

	if (!(*state & CENSUS_REACHED)) {
		*state |= CENSUS_REACHED;
		w->to = census_edges_of(&c->edges, w->chunk, &w->nr);
		__builtin_prefetch(w->to);
	}
	*state &= (uint8_t)~CENSUS_SEEN;
	w->chunk = CENSUS_NO_CHUNK;
}

/* Begin to fetch the state of the last block in S. */
static void
mark_begin(struct census_stack *s, const struct census *c, struct mark_work *w)
{
	w->chunk = s->v[--s->nr];
	__builtin_prefetch(&c->chunks.state.v[w->chunk], 1);
	__builtin_prefetch(&c->edges.degree.v[w->chunk]);
	__builtin_prefetch(&c->edges.first[w->chunk / CENSUS_GROUP]);
}

/* Mark the blocks in S and all blocks that they lead to.  Returns 0, or -1 without memory. */
static int
mark_from(struct census_stack *s, struct census *c)
{
	struct mark_work work[NR_UNDER_WAY];
	unsigned int idle = 0;

	for (unsigned int i = 0; i < NR_UNDER_WAY; i++)
		work[i] = (struct mark_work){ .chunk = CENSUS_NO_CHUNK };
	for (unsigned int i = 0; s->nr || idle <= NR_UNDER_WAY; i = (i + 1) % NR_UNDER_WAY) {
		struct mark_work *w = &work[i];

		idle = w->nr || w->chunk != CENSUS_NO_CHUNK ? 0 : idle + 1;
		if (w->nr && mark_take_edges(s, c, w) < 0)
			return -1;
		if (w->chunk != CENSUS_NO_CHUNK)
			mark_take_chunk(c, w);
		if (s->nr)
			mark_begin(s, c, w);
	}
	return 0;
}

int
census_mark_from(struct census_stack *s, struct census *c, struct err *e)
{
	return mark_from(s, c) < 0 ? err_set(e, ENOMEM, "cannot follow the pointers between blocks")
				   : 0;
}

int
census_mark(struct census *c, struct err *e)
{
	struct census_stack s = { 0 };
	int failed = 0;

	for (size_t i = 0; i < c->roots.root.nr && !failed; i++) {
		uint32_t *added = array_add(&s);

		failed = added ? 0 : -1;
		if (added)
			*added = c->roots.root.v[i].to;
	}
	failed = failed ? err_set(e, ENOMEM, "cannot follow the pointers between blocks")
			: census_mark_from(&s, c, e);
	free(s.v);
	return failed;
}
