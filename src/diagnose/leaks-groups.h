/* leaks-groups: unreachable blocks by type or size, and shape, and within these by the stack. */
#ifndef MEMDIAG_DIAGNOSE_LEAKS_GROUPS_H
#define MEMDIAG_DIAGNOSE_LEAKS_GROUPS_H

#include "base/err.h"
#include "census/leaks.h"

/* Heads of the same type, or else of the same size without a type, and of the same shape. */
struct leaks_group {
	/*
	 * Its label has no meaning; head_bytes, same_size and reached_same_size are 0 if heads of a
	 * type have several sizes.
	 */
	struct census_group sum;
	/* Its parts by label, the largest first: NR of struct census_leaks from FIRST on. */
	size_t first, nr;
};

struct leaks_groups {
	struct leaks_group *v; /* owned; those with the most bytes first */
	size_t nr, room;
};

/*
 * Make the groups of L, which is sorted for it.  G must be zeroed; release it in any case.
 * Returns 0, or -1 with E.
 */
int leaks_groups_make(struct leaks_groups *g, struct census_leaks *l, struct err *e);
void leaks_groups_release(struct leaks_groups *g);

/*
 * Return the blocks of L that have the type of the heads of G; NULL if these have no type.
 */
const struct census_type_blocks *leaks_group_type(
	const struct leaks_group *g, const struct census_leaks *l);

/*
 * Return whether the blocks of G, a group of L, look as if they were reached by pointers that are
 * encoded: many blocks of their type are unreachable, and others of it are reached, or nearly all
 * of them are linked with each other.  Without a type: many hang on one head, and others of its
 * size are reached.
 */
bool leaks_group_may_be_encoded(const struct leaks_group *g, const struct census_leaks *l);

#endif
