/*
 * dominators: which part of a process's blocks each block and each owner alone holds.  A
 * dominates B if every chain of pointers from a root to B passes A: what A dominates would be
 * freed if A were.
 */
#ifndef MEMDIAG_CENSUS_DOMINATORS_H
#define MEMDIAG_CENSUS_DOMINATORS_H

#include "base/err.h"
#include "census/census.h"
#include "census/owners.h"

/* Nodes: the process, its owners, and all chunks. */
#define CENSUS_NODE_PROCESS 0
#define CENSUS_NO_NODE UINT32_MAX

struct census_dominators {
	uint32_t nr_owners;
	uint32_t nr;	 /* nodes that are reached */
	uint32_t *node;	 /* owned; in depth-first order */
	uint32_t *place; /* owned; of each node in that order; CENSUS_NO_NODE: not reached */
	uint32_t *idom;	 /* owned; by place: the place of the immediate dominator */
	struct census_sum *held; /* owned; by place: it and all that it dominates */
};

/* Return the node of an owner, and of a chunk. */
static inline uint32_t
census_owner_node(uint32_t owner)
{
	return owner + 1;
}

static inline uint32_t
census_chunk_node(const struct census_dominators *d, uint32_t chunk)
{
	return d->nr_owners + 1 + chunk;
}

/*
 * Find the dominators of all blocks of C that OWNERS lead to into D, which must be zeroed or
 * released.  Stacks and registers count only for blocks that no other owner leads to: a pointer on
 * a stack does not keep a block for long.  Returns 0, or -1 with E.
 */
int census_dominators_find(struct census_dominators *d, const struct census *c,
	const struct census_owners *owners, struct err *e);
void census_dominators_release(struct census_dominators *d);
#define auto_census_dominators __attribute__((cleanup(census_dominators_release)))

/* Count in D->held, of the blocks of C, only bytes that are in memory. */
void census_dominators_count_resident(struct census_dominators *d, const struct census *c);

/* The tree of dominators from the top, by place; 0: no such child. */
struct census_children {
	uint32_t *first; /* owned; the first child */
	uint32_t *next;	 /* owned; the next child of the same parent */
};

/* Find the children of D into CHILDREN, zeroed or released.  0, or -1 without memory. */
int census_children_find(struct census_children *children, const struct census_dominators *d);
void census_children_release(struct census_children *children);
#define auto_census_children __attribute__((cleanup(census_children_release)))

#endif
