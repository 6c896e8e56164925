/* The pointers from block to block, found as words and turned into numbers of chunks afterwards. */
#include <config.h>

#include "census/edges.h"

#include "base/array.h"
#include "base/word.h"
#include "census/chunks.h"
#include "census/slots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void
census_edges_release(struct census_edges *g)
{
	free(g->to.v);
	free(g->degree.v);
	free(g->header.v);
	free(g->wide.v);
	free(g->first);
	*g = (struct census_edges){ 0 };
}

/* ---- while they are read ---- */

/*
 * Append the granules of the words of SIZE that begin at each STEP.  Both are constants where it is
 * called, so that the loop over aligned words is as short as can be.
 */
static inline __attribute__((always_inline)) size_t
edges_scan_words(const struct census *c, uint32_t *to, const char *at, uint64_t bytes,
	unsigned int size, unsigned int step)
{
	size_t nr = 0;

	for (uint64_t i = 0; i + size <= bytes; i += step) {
		to[nr] = census_granule(&c->slots, word_from(at + i, size) & c->word_mask);
		nr += to[nr] != 0;
	}
	return nr;
}

/*
 * As edges_scan_words() for words among the first CENSUS_LIST_WORDS of a chunk: note in SCAN which
 * may be the address of a header, two words before the program's pointer.
 */
static inline __attribute__((always_inline)) size_t
edges_scan_first(const struct census *c, uint32_t *to, const char *at, uint64_t bytes,
	unsigned int size, unsigned int step, struct census_scan *scan)
{
	const uint64_t aligned = (UINT64_C(1) << c->slots.granule_shift) - 1;
	size_t nr = 0;

	for (uint64_t i = 0; i + size <= bytes; i += step) {
		const uint64_t word = word_from(at + i, size) & c->word_mask;

		to[nr] = census_granule(&c->slots, word);
		scan->headers |=
			(uint8_t)((to[nr] && !((word + 2 * size) & aligned)) << scan->nr_first);
		scan->nr_first += to[nr] != 0;
		nr += to[nr] != 0;
	}
	return nr;
}

static inline __attribute__((always_inline)) size_t
edges_scan_all(const struct census *c, uint32_t *to, const char *at, uint64_t bytes,
	unsigned int size, unsigned int step, struct census_scan *scan)
{
	uint64_t first = CENSUS_LIST_WORDS * size;
	size_t nr = 0;

	if (scan->bytes < first) {
		first -= scan->bytes;
		first = first < bytes ? first : bytes;
		nr = edges_scan_first(c, to, at, first, size, step, scan);
		/* A word may begin in the last step of those. */
		first -= size - step;
		at += first;
		bytes -= first;
	}
	return nr + edges_scan_words(c, to + nr, at, bytes, size, step);
}

int
census_edges_scan(struct census *c, const char *at, uint64_t bytes, struct census_scan *scan)
{
	struct census_edges *g = &c->edges;
	const size_t nr = g->to.nr, most = bytes / c->step_bytes;

	if (g->to.room - nr < most && array_reserve(&g->to, 2 * g->to.room + most) < 0)
		return -1;
	if (c->word_bytes == sizeof(uint32_t))
		g->to.nr += edges_scan_all(c, g->to.v + nr, at, bytes, 4, 4, scan);
	else if (c->step_bytes == sizeof(uint32_t))
		g->to.nr += edges_scan_all(c, g->to.v + nr, at, bytes, 8, 4, scan);
	else
		g->to.nr += edges_scan_all(c, g->to.v + nr, at, bytes, 8, 8, scan);
	scan->bytes += bytes;
	return 0;
}

int
census_edges_close(struct census_edges *g, uint32_t chunk, size_t nr, uint8_t headers)
{
	uint8_t *degree = array_add(&g->degree), *header = array_add(&g->header);

	if (!degree || !header)
		return -1;
	*header = headers;
	*degree = nr < CENSUS_WIDE ? (uint8_t)nr : CENSUS_WIDE;
	if (nr >= CENSUS_WIDE) {
		struct census_wide *wide = array_add(&g->wide);

		/* 2^32 words would be a block of 32 GiB. */
		if (!wide || nr > UINT32_MAX)
			return -1;
		*wide = (struct census_wide){ chunk, (uint32_t)nr };
	}
	return 0;
}

void
census_edges_cut(struct census_edges *g, size_t nr, uint32_t chunk)
{
	g->to.nr = nr;
	g->degree.nr = g->header.nr = chunk;
	while (g->wide.nr && g->wide.v[g->wide.nr - 1].chunk >= chunk)
		g->wide.nr--;
}

/* ---- when all were read ---- */

/*
 * The line of the index that an edge needs is fetched this many edges earlier: the time of a cache
 * miss divided by that of a look-up.
 */
#define AHEAD 24

/* Return the number of edges of CHUNK. */
static uint32_t
degree_of(const struct census_edges *g, uint32_t chunk)
{
	size_t from = 0, to = g->wide.nr;

	if (g->degree.v[chunk] != CENSUS_WIDE)
		return g->degree.v[chunk];
	while (to - from > 1) {
		size_t mid = from + (to - from) / 2;

		if (g->wide.v[mid].chunk <= chunk)
			from = mid;
		else
			to = mid;
	}
	return g->wide.v[from].degree;
}

/* Return whether a chunk other than TARGET, which has GRANULE, begins with the next granule. */
static bool
ends_before_chunk(const struct census_chunks *c, const struct census_slots *s, uint32_t granule,
	uint32_t target)
{
	const uint32_t next = granule + 1;
	uint32_t chunk;

	/* The next slot's number says nothing about its address. */
	if (!(next & ((1U << (CENSUS_SLOT_SHIFT - s->granule_shift)) - 1)))
		return false;
	chunk = census_chunk_at(c, s, next);
	return chunk != target && chunk != CENSUS_NO_CHUNK;
}

/*
 * Turn the NR edges from FROM on, which are CHUNK's, into numbers at TO; return how many are
 * left.
 */
static uint32_t
edges_resolve_chunk(struct census_edges *g, const struct census_chunks *c,
	const struct census_slots *s, uint32_t chunk, size_t from, uint32_t nr, size_t to)
{
	uint32_t kept = 0;

	for (size_t i = from; i < from + nr; i++) {
		uint32_t target;

		if (i + AHEAD < g->to.nr)
			__builtin_prefetch(census_chunk_line(c, s, g->to.v[i + AHEAD]));
		target = census_chunk_at(c, s, g->to.v[i]);
		if (target == CENSUS_NO_CHUNK || target == chunk ||
			!(c->state.v[target] & CENSUS_BLOCK))
			continue;
		if (i - from < 8 && g->header.v[chunk] >> (i - from) & 1 &&
			ends_before_chunk(c, s, g->to.v[i], target))
			continue;
		g->to.v[to + kept++] = target;
	}
	return kept;
}

int
census_edges_resolve(struct census_edges *g, const struct census_chunks *c,
	const struct census_slots *s, struct err *e)
{
	const size_t nr_chunks = c->state.nr;
	size_t from = 0, to = 0, at_wide = 0, nr_wide = 0;

	g->first = calloc(nr_chunks / CENSUS_GROUP + 1, sizeof *g->first);
	if (!g->first)
		return err_set(e, ENOMEM, "cannot list the pointers between blocks");
	for (uint32_t chunk = 0; chunk < nr_chunks; chunk++) {
		uint32_t nr = g->degree.v[chunk], kept;

		if (chunk % CENSUS_GROUP == 0)
			g->first[chunk / CENSUS_GROUP] = to;
		if (nr == CENSUS_WIDE)
			nr = g->wide.v[at_wide++].degree;
		kept = edges_resolve_chunk(g, c, s, chunk, from, nr, to);
		from += nr;
		to += kept;
		g->degree.v[chunk] = kept < CENSUS_WIDE ? (uint8_t)kept : CENSUS_WIDE;
		if (kept >= CENSUS_WIDE)
			g->wide.v[nr_wide++] = (struct census_wide){ chunk, kept };
	}
	g->wide.nr = nr_wide;
	g->to.nr = to;
	free(g->header.v);
	g->header.v = NULL;
	g->header.nr = g->header.room = 0;
	return 0;
}

const uint32_t *
census_edges_of(const struct census_edges *g, uint32_t chunk, uint32_t *ret_nr)
{
	const uint32_t group = chunk - chunk % CENSUS_GROUP;
	uint64_t at = g->first[chunk / CENSUS_GROUP];
	bool has_wide = false;

	for (uint32_t i = group; i < chunk; i++) {
		at += g->degree.v[i];
		has_wide |= g->degree.v[i] == CENSUS_WIDE;
	}
	for (uint32_t i = group; has_wide && i < chunk; i++)
		at += degree_of(g, i) - g->degree.v[i];
	*ret_nr = degree_of(g, chunk);
	return g->to.v + at;
}
