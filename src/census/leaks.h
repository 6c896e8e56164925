/* leaks: the blocks that nothing reaches, grouped by their heads. */
#ifndef MEMDIAG_CENSUS_LEAKS_H
#define MEMDIAG_CENSUS_LEAKS_H

#include "base/err.h"
#include "census/census.h"
#include "census/type-table.h"

/*
 * The shape of a head and the blocks below it.  A head is an unreachable block that no other one
 * leads to, or one block of a ring.
 */
enum census_shape {
	CENSUS_SINGLE, /* the head alone */
	CENSUS_LIST,   /* each block leads to one other at most */
	CENSUS_TREE,
	CENSUS_RING, /* some block leads back to the head */
	NR_CENSUS_SHAPES,
};

#define CENSUS_NR_EXAMPLES 3

/* Heads of the same size, shape, type and label. */
struct census_group {
	enum census_shape shape;
	uint64_t head_bytes; /* usable bytes of each head */
	uint32_t type;	     /* of each head: the first of its name in the table, or none */
	uint32_t label;
	uint64_t heads;
	struct census_sum all;			/* the heads and the blocks below them */
	raddr example[CENSUS_NR_EXAMPLES];	/* {0} after the last */
	uint64_t largest_blocks, largest_bytes; /* of the head with the most bytes */
	/* All blocks that have the size of the heads, and those of them that are reached. */
	uint64_t same_size, reached_same_size;
};

/* A number for each head, by its address: heads with different ones are in different groups. */
struct census_labels {
	uint32_t (*of)(raddr addr, uint64_t usable_bytes, void *arg);
	void *arg;
};

/* The blocks of a type, with those of types of the same name. */
struct census_type_blocks {
	uint64_t all, reached;
	/* Unreachable ones that have the address of another unreachable one, or the reverse. */
	uint64_t linked;
};

struct census_leaks {
	struct census_sum all;
	/* Owned; of each type in the table that is the first of its name; NULL without a table */
	struct census_type_blocks *type;
	uint64_t heads;
	struct {
		struct census_group *v; /* owned; those with the most bytes first */
		size_t nr, room;
	} group;
};

/*
 * Group the blocks of C that are not reached into L, which must be zeroed or released.  What hangs
 * on several heads counts for the first of them.  TABLE has the types with which C was read; NULL
 * if all heads have no type.  LABELS is NULL if all heads have the label 0.  Returns 0, or -1 with
 * E and L released.
 */
int census_leaks_find(struct census_leaks *l, struct census *c,
	const struct census_type_table *table, const struct census_labels *labels, struct err *e);
void census_leaks_release(struct census_leaks *l);
#define auto_census_leaks __attribute__((cleanup(census_leaks_release)))

const char *census_shape_name(enum census_shape s);

#endif
