/* looks: the blocks that were unreachable in each of several censuses of a running process. */
#ifndef MEMDIAG_CENSUS_LOOKS_H
#define MEMDIAG_CENSUS_LOOKS_H

#include "base/err.h"
#include "census/census.h"

/* An unreachable block. */
struct census_lost {
	raddr addr;
	uint64_t bytes;
	uint32_t hash;	/* of its contents */
	uint32_t chunk; /* in the last census */
};

struct census_looks {
	struct {
		struct census_lost *v; /* owned; sorted by address */
		size_t nr, room;
	} lost;
	unsigned int nr;
	uint64_t removed; /* blocks that the last look has removed */
};

/*
 * Add the census C, which was read with wants_hashes.  A block that was not unreachable in an
 * earlier look, or that had another size or other contents, counts as reached in C, and so does
 * what it leads to: it moved while it was read.  L must be zeroed at first.  Returns 0, or -1
 * with E.
 */
int census_looks_add(struct census_looks *l, struct census *c, struct err *e);
void census_looks_release(struct census_looks *l);
#define auto_census_looks __attribute__((cleanup(census_looks_release)))

#endif
