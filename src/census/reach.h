/* reach: the shortest way to each block from an owner. */
#ifndef MEMDIAG_CENSUS_REACH_H
#define MEMDIAG_CENSUS_REACH_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "census/census.h"
#include "census/owners.h"

/* A step to a chunk: CENSUS_BY_OWNER and the number of an owner, a chunk, or nothing. */
#define CENSUS_BY_OWNER UINT64_C(0x100000000)
#define CENSUS_BY_NOTHING UINT64_MAX

struct census_reach {
	uint64_t *by; /* owned; the last step to each chunk */
	struct {
		uint32_t *v; /* owned; chunks in the order in which they were reached */
		size_t nr, room;
	} order;
};

/*
 * Reach all blocks of C that OWNERS lead to into R, which must be zeroed; release it in any case.
 * A thread leads only to blocks that no other owner leads to.  Returns 0, or -1 with E.
 */
int census_reach_all(struct census_reach *r, const struct census *c,
	const struct census_owners *owners, struct err *e);
void census_reach_release(struct census_reach *r);
#define auto_census_reach __attribute__((cleanup(census_reach_release)))

/*
 * Return the number of the owner, plus 1, of the shortest way to each chunk of C, 0 for a chunk
 * that nothing leads to.  The caller frees them.  NULL with E.
 */
uint32_t *census_reach_owners(const struct census_reach *r, const struct census *c, struct err *e);

#endif
