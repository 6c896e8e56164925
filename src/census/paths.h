/* paths: the shortest chain of pointers from an owner to a block, or to the blocks of a type. */
#ifndef MEMDIAG_CENSUS_PATHS_H
#define MEMDIAG_CENSUS_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "census/census.h"
#include "census/owners.h"
#include "census/reach.h"

struct target;

struct census_path {
	uint32_t owner; /* number in the owners */
	struct {
		uint32_t *v; /* owned; chunks from the owner to the block */
		size_t nr, room;
	} hop;
};

/*
 * Store the way of R to CHUNK in PATH, which must be zeroed or released.  PATH has no hop if
 * nothing leads to it.  Returns 0, or -1 with E.
 */
int census_path_find(
	struct census_path *path, const struct census_reach *r, uint32_t chunk, struct err *e);
void census_path_release(struct census_path *path);
#define auto_census_path __attribute__((cleanup(census_path_release)))

/*
 * Return how many roots and blocks of C have the address of each chunk; the caller frees them.
 * NULL with E.
 */
uint32_t *census_referrers_count(const struct census *c, struct err *e);

/* ---- the words of a path ---- */

#define CENSUS_NO_OFFSET UINT64_MAX

/*
 * Return the offset in the block FROM of C of the first word that leads to the block TO.  T is read
 * for it, so it may have changed since: then CENSUS_NO_OFFSET.
 */
uint64_t census_pointer_in_block(
	const struct census *c, const struct target *t, uint32_t from, uint32_t to);

/* Return the offset in OWNER of C of the first root that leads to the block TO. */
uint64_t census_pointer_in_owner(
	const struct census *c, const struct census_owner *owner, uint32_t to);

/* ---- the blocks of a type ---- */

/* Blocks to which the same types lead from the same owner; a type several times in a row is one. */
struct census_way {
	struct census_sum sum;
	uint32_t first;	 /* of its blocks, the one with the shortest path */
	bool is_reached; /* false: nothing leads to these */
};

struct census_ways {
	struct {
		struct census_way *v; /* owned; those with the most bytes first */
		size_t nr, room;
	} way;
	struct census_sum all;
};

/*
 * Sum up the ways of R to the blocks of C whose type T has IS_WANTED[T], into W, which must be
 * zeroed; release it in any case.  Returns 0, or -1 with E.
 */
int census_ways_find(struct census_ways *w, const struct census *c, const struct census_reach *r,
	const bool *is_wanted, struct err *e);
void census_ways_release(struct census_ways *w);
#define auto_census_ways __attribute__((cleanup(census_ways_release)))

#endif
