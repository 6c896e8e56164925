/* types: the blocks of a census by type, and the owners of those without one. */
#ifndef MEMDIAG_CENSUS_TYPES_H
#define MEMDIAG_CENSUS_TYPES_H

#include "base/err.h"
#include "census/census.h"
#include "census/type-table.h"

#define CENSUS_TYPE_EXAMPLES 3

/* All blocks of one type. */
struct census_type_row {
	uint32_t type;	       /* number in the table */
	struct census_sum own; /* blocks that show it */
	/* blocks without a type that these lead to: see CENSUS_OWNER_STEPS */
	struct census_sum below;
	struct census_sum pooled; /* objects in pools of CPython, which are not blocks */
	uint64_t largest_bytes;
	uint64_t inner_blocks; /* those in which the address is not the first word */
	raddr example[CENSUS_TYPE_EXAMPLES];
};

/* Blocks by how their type is known. */
struct census_known {
	struct census_sum proven;   /* blocks that show their type */
	struct census_sum inferred; /* blocks without one that such a block leads to */
	struct census_sum global;   /* others, that a global variable leads to */
	struct census_sum unknown;  /* all others, reached or not */
};

/* Return the sum of all blocks of K. */
struct census_sum census_known_sum(const struct census_known *k);

struct census_cursor;

/* A division of blocks into groups. */
struct census_grouping {
	uint32_t nr; /* of groups */
	/*
	 * Return the group, a number below NR, of the block at AT.  TYPE is its type, else the one
	 * that leads to it, else CENSUS_NO_TYPE.
	 */
	uint32_t (*of)(const struct census_cursor *at, uint32_t type, void *arg);
	void *arg;
};

struct census_type_sums {
	struct {
		struct census_type_row *v; /* owned; those with the most bytes first */
		size_t nr, room;
	} row;
	struct census_known known;
	struct census_known *group; /* owned; by number; NULL without a grouping */
};

/* The steps from a block with a type to one that counts as below it. */
#define CENSUS_OWNER_STEPS 4

/*
 * Sum up the blocks of C, which was read with TABLE, by type into S, which must be zeroed or
 * released.  A block without a type is below the type that leads to it in the fewest steps, at most
 * CENSUS_OWNER_STEPS.  The same blocks are summed up by the groups of BY, unless it is NULL.
 * Returns 0, or -1 with E.
 */
int census_types_sum(struct census_type_sums *s, struct census *c,
	const struct census_type_table *table, const struct census_grouping *by, struct err *e);
void census_type_sums_release(struct census_type_sums *s);
#define auto_census_type_sums __attribute__((cleanup(census_type_sums_release)))

#endif
