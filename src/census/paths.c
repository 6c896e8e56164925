/*
 * Breadth-first search from all owners at once, which keeps the block from which each was
 * reached.
 */
#include <config.h>

#include "census/paths.h"

#include "base/array.h"
#include "census/edges.h"

#include <errno.h>
#include <stdlib.h>

/* The predecessor of a chunk: another chunk, or an owner. */
#define BY_OWNER UINT64_C(0x100000000)
#define BY_NOTHING UINT64_MAX

struct path_search {
	struct census_path *path;
	const struct census *c;
	const struct census_owners *owners;
	uint64_t *by; /* owned; the predecessor of each chunk */
	struct {
		uint32_t *v; /* owned; in the order in which they were reached */
		size_t nr, room;
	} reached;
};

void
census_path_release(struct census_path *path)
{
	free(path->hop.v);
	*path = (struct census_path){ 0 };
}

static int
path_reach(struct path_search *s, uint32_t chunk, uint64_t by)
{
	uint32_t *added;

	if (s->by[chunk] != BY_NOTHING)
		return 0;
	added = array_add(&s->reached);
	if (!added)
		return -1;
	*added = chunk;
	s->by[chunk] = by;
	return 0;
}

/* Reach all that the owners lead to that are of threads or not. */
static int
path_search(struct path_search *s, bool of_thread, size_t *at)
{
	for (size_t i = 0; i < s->owners->owner.nr; i++) {
		const struct census_owner *owner = &s->owners->owner.v[i];

		if ((owner->kind == CENSUS_STACK) != of_thread)
			continue;
		for (uint32_t k = 0; k < owner->nr; k++)
			if (path_reach(s, s->owners->to[owner->first + k], BY_OWNER | i) < 0)
				return -1;
	}
	for (; *at < s->reached.nr; ++*at) {
		const uint32_t chunk = s->reached.v[*at];
		uint32_t nr;
		const uint32_t *to = census_edges_of(&s->c->edges, chunk, &nr);

		for (uint32_t i = 0; i < nr; i++)
			if (path_reach(s, to[i], chunk) < 0)
				return -1;
	}
	return 0;
}

/* Store the chunks from the owner to CHUNK. */
static int
path_store(struct path_search *s, uint32_t chunk)
{
	struct census_path *path = s->path;

	if (s->by[chunk] == BY_NOTHING)
		return 0;
	for (;;) {
		uint32_t *hop = array_add(&path->hop);

		if (!hop)
			return -1;
		*hop = chunk;
		if (s->by[chunk] & BY_OWNER)
			break;
		chunk = (uint32_t)s->by[chunk];
	}
	path->owner = (uint32_t)s->by[chunk];
	for (size_t i = 0; i < path->hop.nr / 2; i++) {
		uint32_t *a = &path->hop.v[i], *b = &path->hop.v[path->hop.nr - 1 - i];
		const uint32_t kept = *a;

		*a = *b;
		*b = kept;
	}
	return 0;
}

static void
count_referrers(struct path_search *s, uint32_t chunk)
{
	for (uint32_t from = 0; from < s->c->chunks.state.nr; from++) {
		uint32_t nr, i = 0;
		const uint32_t *to = census_edges_of(&s->c->edges, from, &nr);

		while (i < nr && to[i] != chunk)
			i++;
		s->path->nr_referrers += i < nr;
	}
	for (size_t i = 0; i < s->c->roots.root.nr; i++)
		s->path->nr_referrers += s->c->roots.root.v[i].to == chunk;
}

int
census_path_find(struct census_path *path, const struct census *c,
	const struct census_owners *owners, uint32_t chunk, struct err *e)
{
	struct path_search s = { .path = path, .c = c, .owners = owners };
	size_t at = 0;
	int failed = -1;

	s.by = malloc((c->chunks.state.nr + 1) * sizeof *s.by);
	for (size_t i = 0; s.by && i < c->chunks.state.nr; i++)
		s.by[i] = BY_NOTHING;
	if (s.by && path_search(&s, false, &at) == 0 && path_search(&s, true, &at) == 0)
		failed = path_store(&s, chunk);
	if (!failed)
		count_referrers(&s, chunk);
	free(s.by);
	free(s.reached.v);
	if (failed) {
		census_path_release(path);
		return err_set(e, ENOMEM, "cannot find what leads to the block");
	}
	return 0;
}
