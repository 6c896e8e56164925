/* paths: the shortest chain of pointers from an owner to a block. */
#ifndef MEMDIAG_CENSUS_PATHS_H
#define MEMDIAG_CENSUS_PATHS_H

#include "base/err.h"
#include "census/census.h"
#include "census/owners.h"

struct census_path {
	uint32_t owner; /* number in the owners */
	struct {
		uint32_t *v; /* owned; chunks from the owner to the block */
		size_t nr, room;
	} hop;
	uint64_t nr_referrers; /* owners and blocks that have the address of the block itself */
};

/*
 * Find the shortest path from an owner to CHUNK, from a thread only if no other owner leads to it,
 * into PATH, which must be zeroed or released.  PATH has no hop if nothing leads to it.  Returns 0,
 * or -1 with E.
 */
int census_path_find(struct census_path *path, const struct census *c,
	const struct census_owners *owners, uint32_t chunk, struct err *e);
void census_path_release(struct census_path *path);
#define auto_census_path __attribute__((cleanup(census_path_release)))

#endif
