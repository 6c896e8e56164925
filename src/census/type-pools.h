/*
 * type-pools: types of blocks that their own words prove: contexts of PostgreSQL, pools, and the
 * states of zlib.
 */
#ifndef MEMDIAG_CENSUS_TYPE_POOLS_H
#define MEMDIAG_CENSUS_TYPE_POOLS_H

#include "base/err.h"
#include "census/census.h"
#include "census/type-table.h"

struct objects;

/* Return the rules (enum census_rule) for a process that has the objects O. */
unsigned int census_pool_rules(const struct objects *o);

/*
 * Judge the fronts in C, which was read from a process with the objects O: give the blocks that
 * are what they look like their types, which are added to TABLE.  Only what was read in the stop,
 * and the files of O, are used.  Returns 0, or -1 with E.
 */
int census_types_judge(
	struct census *c, struct census_type_table *table, const struct objects *o, struct err *e);

#endif
