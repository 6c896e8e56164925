/* retained: what each type and each owner alone holds. */
#ifndef MEMDIAG_CENSUS_RETAINED_H
#define MEMDIAG_CENSUS_RETAINED_H

#include "base/err.h"
#include "census/census.h"
#include "census/dominators.h"
#include "census/type-table.h"

/* An owner with what it alone holds. */
struct census_retained_owner {
	uint32_t owner; /* number in the owners */
	struct census_sum held;
};

/* All blocks of one type, with what they hold together, and that no other block of it holds. */
struct census_retained_type {
	uint32_t type; /* number in the table */
	uint64_t blocks;
	struct census_sum held;
	uint32_t largest; /* the chunk that holds most */
	uint64_t largest_bytes;
};

struct census_retained {
	struct {
		struct census_retained_owner *v; /* owned; those that hold most first */
		size_t nr, room;
	} owner;
	struct {
		struct census_retained_type *v; /* owned; those that hold most first */
		size_t nr, room;
	} type;
	struct census_sum shared;      /* blocks that several owners lead to, and what they hold */
	struct census_sum unreachable; /* blocks that no owner leads to */
};

/*
 * Sum up D, the dominators of C, by owner and by type into R, which must be zeroed or released.
 * Types of one name are one type.  Returns 0, or -1 with E.
 */
int census_retained_sum(struct census_retained *r, const struct census *c,
	const struct census_dominators *d, const struct census_type_table *table, struct err *e);
void census_retained_release(struct census_retained *r);
#define auto_census_retained __attribute__((cleanup(census_retained_release)))

#endif
