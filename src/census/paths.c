/*
 * A number for each block, made of that of the block before it and of its type, distinguishes the
 * ways to the blocks of a type.  A list of any length is one step.
 */
#include <config.h>

#include "census/paths.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/word.h"
#include "census/chunks.h"
#include "census/edges.h"
#include "census/slots.h"
#include "os/memory.h"

#include <errno.h>
#include <stdlib.h>

#define PIECE_BYTES ((size_t)1 << 20)

/* ---- the path to a block ---- */

void
census_path_release(struct census_path *path)
{
	free(path->hop.v);
	*path = (struct census_path){ 0 };
}

/* Store the chunks from the owner to CHUNK, which is reached. */
static int
path_store(struct census_path *path, const struct census_reach *r, uint32_t chunk)
{
	for (;;) {
		uint32_t *hop = array_add(&path->hop);

		if (!hop)
			return -1;
		*hop = chunk;
		if (r->by[chunk] & CENSUS_BY_OWNER)
			break;
		chunk = (uint32_t)r->by[chunk];
	}
	path->owner = (uint32_t)r->by[chunk];
	for (size_t i = 0; i < path->hop.nr / 2; i++) {
		uint32_t *a = &path->hop.v[i], *b = &path->hop.v[path->hop.nr - 1 - i];
		const uint32_t kept = *a;

		*a = *b;
		*b = kept;
	}
	return 0;
}

int
census_path_find(
	struct census_path *path, const struct census_reach *r, uint32_t chunk, struct err *e)
{
	if (r->by[chunk] == CENSUS_BY_NOTHING || path_store(path, r, chunk) == 0)
		return 0;
	census_path_release(path);
	return err_set(e, ENOMEM, "cannot keep what leads to the block");
}

uint32_t *
census_referrers_count(const struct census *c, struct err *e)
{
	const size_t nr_chunks = c->chunks.state.nr;
	uint32_t *count = calloc(nr_chunks + 1, sizeof *count);
	/* The last block that leads to each one, plus 1: it may have the address twice. */
	auto_free uint32_t *last = calloc(nr_chunks + 1, sizeof *last);

	if (!count || !last) {
		free(count);
		err_set(e, ENOMEM, "cannot count the pointers to blocks");
		return NULL;
	}
	for (uint32_t from = 0; from < nr_chunks; from++) {
		uint32_t nr;
		const uint32_t *to = census_edges_of(&c->edges, from, &nr);

		for (uint32_t i = 0; i < nr; i++) {
			count[to[i]] += last[to[i]] != from + 1;
			last[to[i]] = from + 1;
		}
	}
	for (size_t i = 0; i < c->roots.root.nr; i++)
		count[c->roots.root.v[i].to]++;
	return count;
}

/* ---- the words of a path ---- */

/* Return the place in the SIZE bytes at BUF of the first word that leads to TO; SIZE: none does. */
static size_t
pointer_in(const struct census *c, const char *buf, size_t size, uint32_t to)
{
	for (size_t i = 0; i + c->word_bytes <= size; i += c->step_bytes) {
		const uint64_t word = word_from(buf + i, c->word_bytes) & c->word_mask;
		const uint32_t granule = census_granule(&c->slots, word);

		if (granule && census_chunk_at(&c->chunks, &c->slots, granule) == to)
			return i;
	}
	return size;
}

uint64_t
census_pointer_in_block(const struct census *c, const struct target *t, uint32_t from, uint32_t to)
{
	auto_free char *buf = malloc(PIECE_BYTES);
	struct census_cursor at;
	uint64_t bytes;

	census_chunk_find(&c->chunks, from, &at);
	bytes = census_block_bytes(c, &at);
	for (uint64_t done = 0; buf && done < bytes; done += PIECE_BYTES) {
		const size_t size = bytes - done < PIECE_BYTES ? bytes - done : PIECE_BYTES;
		struct err ignored;
		size_t found;

		if (os_read_present_some(t, raddr_add(at.start, done), buf, size, &ignored) < 0)
			break;
		found = pointer_in(c, buf, size, to);
		if (found < size)
			return done + found;
	}
	return CENSUS_NO_OFFSET;
}

uint64_t
census_pointer_in_owner(const struct census *c, const struct census_owner *owner, uint32_t to)
{
	uint64_t least = CENSUS_NO_OFFSET;

	if (!owner->start.v)
		return CENSUS_NO_OFFSET;
	for (size_t i = 0; i < c->roots.root.nr; i++) {
		const struct census_root *root = &c->roots.root.v[i];

		/* Variables at higher addresses may lead to it, too. */
		if (root->to == to && root->at >= owner->start.v &&
			root->at - owner->start.v < least)
			least = root->at - owner->start.v;
	}
	return least;
}

/* ---- the ways to a type ---- */

/* A block of the type. */
struct way_block {
	uint64_t key;	/* of its way; 0: nothing leads to it */
	uint32_t order; /* in which it was reached */
	uint32_t chunk;
	uint64_t bytes;
};

struct ways_search {
	struct census_ways *ways;
	const struct census *c;
	const struct census_reach *r;
	const bool *is_wanted;
	uint64_t *key; /* owned; of each chunk */
	struct {
		struct way_block *v; /* owned */
		size_t nr, room;
	} block;
};

void
census_ways_release(struct census_ways *w)
{
	free(w->way.v);
	*w = (struct census_ways){ 0 };
}

static uint32_t
ways_type_of(const struct ways_search *s, uint32_t chunk)
{
	return s->c->type_of.v[chunk] & CENSUS_TYPE_MASK;
}

/* Return a number for KEY and NEXT, never 0. */
static uint64_t
ways_mix(uint64_t key, uint64_t next)
{
	key = (key ^ (next + 1)) * UINT64_C(0x9e3779b97f4a7c15);
	key ^= key >> 29;
	key *= UINT64_C(0xbf58476d1ce4e5b9);
	return (key ^ key >> 32) | 1;
}

/* Fill KEY in the order in which chunks were reached. */
static void
ways_number(struct ways_search *s)
{
	for (size_t i = 0; i < s->r->order.nr; i++) {
		const uint32_t chunk = s->r->order.v[i], type = ways_type_of(s, chunk);
		const uint64_t by = s->r->by[chunk];

		if (by & CENSUS_BY_OWNER)
			s->key[chunk] = ways_mix(ways_mix(0, by), type);
		else if (ways_type_of(s, (uint32_t)by) == type)
			s->key[chunk] = s->key[by];
		else
			s->key[chunk] = ways_mix(s->key[by], type);
	}
}

static int
ways_add(struct ways_search *s, uint32_t chunk, uint32_t order)
{
	struct way_block *added;
	struct census_cursor at;

	if (!(s->c->chunks.state.v[chunk] & CENSUS_BLOCK) || !s->is_wanted[ways_type_of(s, chunk)])
		return 0;
	added = array_add(&s->block);
	if (!added)
		return -1;
	census_chunk_find(&s->c->chunks, chunk, &at);
	*added = (struct way_block){ s->key[chunk], order, chunk, census_block_bytes(s->c, &at) };
	return 0;
}

/* List the blocks of the type: those that are reached first, in order, then all others. */
static int
ways_list(struct ways_search *s)
{
	for (size_t i = 0; i < s->r->order.nr; i++)
		if (ways_add(s, s->r->order.v[i], (uint32_t)i) < 0)
			return -1;
	for (uint32_t chunk = 0; chunk < s->c->chunks.state.nr; chunk++)
		if (s->r->by[chunk] == CENSUS_BY_NOTHING && ways_add(s, chunk, UINT32_MAX) < 0)
			return -1;
	return 0;
}

static int
ways_by_key(const void *a, const void *b)
{
	const struct way_block *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return (x->chunk > y->chunk) - (x->chunk < y->chunk);
}

static int
ways_by_bytes(const void *a, const void *b)
{
	const struct census_way *x = a, *y = b;

	if (x->sum.bytes != y->sum.bytes)
		return x->sum.bytes > y->sum.bytes ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

static void
ways_count(struct census_sum *sum, uint64_t bytes)
{
	sum->blocks++;
	sum->bytes += bytes;
}

/* Make a way of all blocks with the same key. */
static int
ways_join(struct ways_search *s)
{
	struct census_ways *ways = s->ways;
	const struct way_block *block = s->block.v;

	qsort(s->block.v, s->block.nr, sizeof *s->block.v, ways_by_key);
	for (size_t i = 0; i < s->block.nr; i++) {
		if (!i || block[i].key != block[i - 1].key) {
			struct census_way *added = array_add(&ways->way);

			if (!added)
				return -1;
			*added = (struct census_way){ .first = block[i].chunk,
				.is_reached = block[i].key != 0 };
		}
		ways_count(&ways->way.v[ways->way.nr - 1].sum, block[i].bytes);
		ways_count(&ways->all, block[i].bytes);
	}
	qsort(ways->way.v, ways->way.nr, sizeof *ways->way.v, ways_by_bytes);
	return 0;
}

int
census_ways_find(struct census_ways *w, const struct census *c, const struct census_reach *r,
	const bool *is_wanted, struct err *e)
{
	struct ways_search s = { .ways = w, .c = c, .r = r, .is_wanted = is_wanted };
	int failed = -1;

	s.key = calloc(c->chunks.state.nr + 1, sizeof *s.key);
	if (s.key) {
		ways_number(&s);
		failed = ways_list(&s);
	}
	if (!failed && s.block.nr)
		failed = ways_join(&s);
	free(s.key);
	free(s.block.v);
	return failed ? err_set(e, ENOMEM, "cannot sum up what leads to the blocks") : 0;
}
