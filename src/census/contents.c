/*
 * Only the first bytes of a block are compared with text, so that the process is not stopped for
 * longer than it takes to read its blocks.
 */
#include <config.h>

#include "census/contents.h"

#include "base/text.h"
#include "census/chunks.h"
#include "census/edges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A shorter one may be a number. */
#define TEXT_MIN_BYTES 4
/* A character of UTF-8 may begin so many bytes before the end, and continue after it. */
#define CUT_MAX_BYTES 3
/* A node has its links first; more of them are not looked at. */
#define LINKS_MAX 8
/* malloc() gives so much more to a request if no chunk would be left. */
#define EXTRA_BYTES 16
#define ARRAY_WORDS 3
#define POINTERS_MIN 3

const char *const census_contents_names[] = {
	[CENSUS_CONTENTS_ZEROES] = "zeroes",
	[CENSUS_CONTENTS_NODE] = "node",
	[CENSUS_CONTENTS_ARRAY] = "array",
	[CENSUS_CONTENTS_TEXT] = "text",
	[CENSUS_CONTENTS_POINTERS] = "pointers",
	[CENSUS_CONTENTS_OTHER] = "other",
	[NR_CENSUS_CONTENTS] = NULL,
};

/* ---- in the stop ---- */

void
census_contents_add(struct census_contents_scan *s, const char *at, uint64_t bytes)
{
	const uint64_t room = sizeof s->first - s->nr_first, first = bytes < room ? bytes : room;

	memcpy(s->first + s->nr_first, at, first);
	s->nr_first += (unsigned int)first;
	/* All bytes are 0 if the first one is, and each is as the one before it. */
	s->is_written = s->is_written || *at || memcmp(at, at + 1, bytes - 1) != 0;
}

/* Return whether the first bytes of S are text, to their end or to a NUL in their second half. */
static bool
begins_with_text(const struct census_contents_scan *s)
{
	const size_t length = text_length(s->first, s->nr_first);

	return length >= TEXT_MIN_BYTES && 2 * length >= s->nr_first &&
		(length + CUT_MAX_BYTES >= s->nr_first || !s->first[length]);
}

uint8_t
census_contents_state(const struct census_contents_scan *s)
{
	if (!s->is_written)
		return CENSUS_ZERO;
	return begins_with_text(s) ? CENSUS_TEXT : 0;
}

/* ---- arrays ---- */

/* Mark the blocks that ARRAY_WORDS edges in a row of one block lead to. */
static void
contents_mark_edges(const struct census *c, uint32_t *contents)
{
	for (uint32_t chunk = 0; chunk < c->chunks.state.nr; chunk++) {
		uint32_t nr;
		const uint32_t *to = census_edges_of(&c->edges, chunk, &nr);

		for (uint32_t i = ARRAY_WORDS - 1; i < nr; i++)
			if (to[i] == to[i - 1] && to[i] == to[i - 2])
				contents[to[i]] = CENSUS_CONTENTS_ARRAY;
	}
}

/* Mark the blocks whose address ARRAY_WORDS words in a row of the roots have. */
static void
contents_mark_roots(const struct census *c, uint32_t *contents)
{
	const struct census_root *root = c->roots.root.v;

	for (size_t i = ARRAY_WORDS - 1; i < c->roots.root.nr; i++)
		if (root[i].to == root[i - 1].to && root[i].to == root[i - 2].to &&
			root[i].at == root[i - 1].at + c->word_bytes &&
			root[i].at == root[i - 2].at + 2 * c->word_bytes)
			contents[root[i].to] = CENSUS_CONTENTS_ARRAY;
}

/* ---- nodes ---- */

static uint64_t
bytes_of(const struct census *c, uint32_t chunk)
{
	struct census_cursor at;

	census_chunk_find(&c->chunks, chunk, &at);
	return at.end.v - at.start.v;
}

/* Return whether one of the first links of FROM leads to TO. */
static bool
links_to(const struct census *c, uint32_t from, uint32_t to)
{
	uint32_t nr;
	const uint32_t *link = census_edges_of(&c->edges, from, &nr);

	for (uint32_t i = 0; i < nr && i < LINKS_MAX; i++)
		if (link[i] == to)
			return true;
	return false;
}

/* Return whether CHUNK, of BYTES with its header, and one that it links to are nodes. */
static bool
is_node(const struct census *c, uint32_t chunk, uint64_t bytes)
{
	uint32_t nr;
	const uint32_t *link = census_edges_of(&c->edges, chunk, &nr);

	for (uint32_t i = 0; i < nr && i < LINKS_MAX; i++) {
		const uint64_t other = links_to(c, link[i], chunk) ? bytes_of(c, link[i]) : 0;

		if (other && other <= bytes + EXTRA_BYTES && bytes <= other + EXTRA_BYTES)
			return true;
	}
	return false;
}

/* ---- all of them ---- */

/* Return what is in the block at AT, which is an array or not. */
static enum census_contents
contents_of(const struct census *c, const struct census_cursor *at, bool is_array)
{
	const uint8_t state = c->chunks.state.v[at->chunk];
	const uint64_t bytes = census_block_bytes(c, at);
	uint32_t nr;

	if (state & CENSUS_ZERO)
		return CENSUS_CONTENTS_ZEROES;
	if (is_node(c, at->chunk, at->end.v - at->start.v))
		return CENSUS_CONTENTS_NODE;
	if (is_array)
		return CENSUS_CONTENTS_ARRAY;
	census_edges_of(&c->edges, at->chunk, &nr);
	if (state & CENSUS_TEXT && (!nr || bytes <= CENSUS_TEXT_BYTES))
		return CENSUS_CONTENTS_TEXT;
	return nr >= POINTERS_MIN && 2 * (uint64_t)nr >= bytes / c->word_bytes
		? CENSUS_CONTENTS_POINTERS
		: CENSUS_CONTENTS_OTHER;
}

uint32_t *
census_contents_find(const struct census *c, struct err *e)
{
	const size_t nr = c->chunks.state.nr;
	uint32_t *contents = malloc((nr + 1) * sizeof *contents);
	struct census_cursor at = CENSUS_CURSOR_NONE;

	if (!contents) {
		err_set(e, ENOMEM, "cannot keep what is in the blocks");
		return NULL;
	}
	for (size_t i = 0; i < nr; i++)
		contents[i] = CENSUS_CONTENTS_OTHER;
	contents_mark_edges(c, contents);
	contents_mark_roots(c, contents);
	while (census_chunks_next(&c->chunks, &at))
		if (c->chunks.state.v[at.chunk] & CENSUS_BLOCK)
			contents[at.chunk] =
				contents_of(c, &at, contents[at.chunk] == CENSUS_CONTENTS_ARRAY);
	return contents;
}
