/* leaks-groups: unreachable blocks by size and shape, and within these by the stack. */
#ifndef MEMDIAG_DIAGNOSE_LEAKS_GROUPS_H
#define MEMDIAG_DIAGNOSE_LEAKS_GROUPS_H

#include "base/err.h"
#include "census/leaks.h"

/* Heads of the same size and shape. */
struct leaks_group {
	struct census_group sum; /* its label has no meaning */
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
 * Return whether the blocks of G look as if they were reached by pointers that are encoded: many
 * of them hang on one head, and others of their size are reached.
 */
bool leaks_group_may_be_encoded(const struct leaks_group *g);

#endif
