/* Breadth-first search from all owners at once. */
#include <config.h>

#include "census/reach.h"

#include "base/array.h"
#include "census/edges.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

void
census_reach_release(struct census_reach *r)
{
	free(r->by);
	free(r->order.v);
	*r = (struct census_reach){ 0 };
}

static int
reach_chunk(struct census_reach *r, uint32_t chunk, uint64_t by)
{
	uint32_t *added;

	if (r->by[chunk] != CENSUS_BY_NOTHING)
		return 0;
	added = array_add(&r->order);
	if (!added)
		return -1;
	*added = chunk;
	r->by[chunk] = by;
	return 0;
}

/* Reach what the owners lead to that are threads or not; *AT is the place in the order. */
static int
reach_of_owners(struct census_reach *r, const struct census *c, const struct census_owners *owners,
	bool of_thread, size_t *at)
{
	for (size_t i = 0; i < owners->owner.nr; i++) {
		const struct census_owner *owner = &owners->owner.v[i];

		if ((owner->kind == CENSUS_STACK) != of_thread)
			continue;
		for (uint32_t k = 0; k < owner->nr; k++)
			if (reach_chunk(r, owners->to[owner->first + k], CENSUS_BY_OWNER | i) < 0)
				return -1;
	}
	for (; *at < r->order.nr; ++*at) {
		const uint32_t chunk = r->order.v[*at];
		uint32_t nr;
		const uint32_t *to = census_edges_of(&c->edges, chunk, &nr);

		for (uint32_t i = 0; i < nr; i++)
			if (reach_chunk(r, to[i], chunk) < 0)
				return -1;
	}
	return 0;
}

int
census_reach_all(struct census_reach *r, const struct census *c, const struct census_owners *owners,
	struct err *e)
{
	const size_t nr = c->chunks.state.nr;
	size_t at = 0;

	r->by = malloc((nr + 1) * sizeof *r->by);
	for (size_t i = 0; r->by && i < nr; i++)
		r->by[i] = CENSUS_BY_NOTHING;
	if (!r->by || reach_of_owners(r, c, owners, false, &at) < 0 ||
		reach_of_owners(r, c, owners, true, &at) < 0)
		return err_set(e, ENOMEM, "cannot find what leads to the blocks");
	return 0;
}

uint32_t *
census_reach_owners(const struct census_reach *r, const struct census *c, struct err *e)
{
	uint32_t *owner = calloc(c->chunks.state.nr + 1, sizeof *owner);

	if (!owner) {
		err_set(e, ENOMEM, "cannot find what leads to the blocks");
		return NULL;
	}
	for (size_t i = 0; i < r->order.nr; i++) {
		const uint32_t chunk = r->order.v[i];
		const uint64_t by = r->by[chunk];

		owner[chunk] = by & CENSUS_BY_OWNER ? (uint32_t)by + 1 : owner[by];
	}
	return owner;
}
