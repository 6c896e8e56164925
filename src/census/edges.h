/* edges: the pointers from block to block. */
#ifndef MEMDIAG_CENSUS_EDGES_H
#define MEMDIAG_CENSUS_EDGES_H

#include "base/err.h"
#include "census/census.h"

void census_edges_release(struct census_edges *g);

/* The chunk whose words are scanned; zeroed when it begins. */
struct census_scan {
	uint64_t bytes;	       /* scanned so far */
	unsigned int nr_first; /* edges among the first CENSUS_LIST_WORDS */
	uint8_t headers;       /* as in struct census_edges */
};

/*
 * Append a granule for each word among the BYTES at AT, the next ones of the chunk of SCAN, that is
 * an address in malloc's memory.  Returns 0, or -1 without memory.
 */
int census_edges_scan(struct census *c, const char *at, uint64_t bytes, struct census_scan *scan);

/*
 * Make the last NR edges those of CHUNK, the next one, with HEADERS of its scan.  Returns 0, or -1
 * without memory.
 */
int census_edges_close(struct census_edges *g, uint32_t chunk, size_t nr, uint8_t headers);

/* Drop the edges from number NR on, and the chunks from CHUNK on. */
void census_edges_cut(struct census_edges *g, size_t nr, uint32_t chunk);

/*
 * Replace granules by the chunks that they are in, and drop edges to no block, to the block itself,
 * and those that malloc has left (CENSUS_LIST_WORDS).  Returns 0, or -1 with E.
 */
int census_edges_resolve(struct census_edges *g, const struct census_chunks *c,
	const struct census_slots *s, struct err *e);

/*
 * Return the blocks that CHUNK has addresses of, *RET_NR of them; one may be there several
 * times.
 */
const uint32_t *census_edges_of(const struct census_edges *g, uint32_t chunk, uint32_t *ret_nr);

#endif
