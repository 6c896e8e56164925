/* chunks: the chunks by number, and the chunk at an address. */
#ifndef MEMDIAG_CENSUS_CHUNKS_H
#define MEMDIAG_CENSUS_CHUNKS_H

#include "base/err.h"
#include "census/census.h"

void census_chunks_release(struct census_chunks *c);

/*
 * Begin an extent, [START, END), to which chunks are added next.  Returns 0, or -1 without
 * memory.
 */
int census_chunks_begin_extent(struct census_chunks *c, raddr start, raddr end);

/*
 * Add the chunk whose program's pointer is ADDR, above those of the extent so far, with STATE.
 * Returns 0, or -1 without memory.
 */
int census_chunks_add(struct census_chunks *c, uint64_t addr, uint8_t state);

/* Drop the extents from number NR on, with their chunks. */
void census_chunks_cut(struct census_chunks *c, size_t nr);

/* Prepare census_chunk_at(), when all chunks were added.  Returns 0, or -1 with E. */
int census_chunks_sort(struct census_chunks *c, const struct census_slots *s, struct err *e);

/* Return the number of the chunk that contains a granule; CENSUS_NO_CHUNK: none does. */
uint32_t census_chunk_at(
	const struct census_chunks *c, const struct census_slots *s, uint32_t granule);

/* Return the line of the index that census_chunk_at() reads, to fetch it early; or NULL. */
const void *census_chunk_line(
	const struct census_chunks *c, const struct census_slots *s, uint32_t granule);

/* A chunk in order of number. */
struct census_cursor {
	uint32_t chunk;
	raddr start, end; /* from the program's pointer to that of the next chunk */
	size_t extent;
};

/*
 * Return the bytes that the program may use of the block at AT: all up to the next chunk's size,
 * but the whole pages of a block with its own mapping.
 */
static inline uint64_t
census_block_bytes(const struct census *c, const struct census_cursor *at)
{
	const uint64_t bytes = at->end.v - at->start.v;
	const bool is_last = at->end.v == c->chunks.extent.v[at->extent].end.v;

	return is_last ? bytes : bytes - c->word_bytes;
}

/*
 * Return how many of these bytes are in memory.  *NEXT, 0 at first, is kept between calls, in which
 * AT moves forward.
 */
uint64_t census_resident_bytes(
	const struct census *c, const struct census_cursor *at, size_t *next);

/* Begin at chunk 0. */
#define CENSUS_CURSOR_NONE                                                                         \
	(struct census_cursor)                                                                     \
	{                                                                                          \
		.chunk = CENSUS_NO_CHUNK                                                           \
	}

/* Move AT to the next chunk; false after the last. */
bool census_chunks_next(const struct census_chunks *c, struct census_cursor *at);

/* Get the place of chunk NR. */
void census_chunk_find(const struct census_chunks *c, uint32_t nr, struct census_cursor *ret);

#endif
