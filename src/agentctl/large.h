/* large: blocks with separate mappings, found from the contents of memory. */
#ifndef MEMDIAG_AGENTCTL_LARGE_H
#define MEMDIAG_AGENTCTL_LARGE_H

#include "glibc/arenas.h"

struct regions;
struct target;

/* Blocks with separate mappings, as far as their headers were found. */
struct large_blocks {
	uint64_t nr, bytes;  /* of whole pages */
	uint64_t lead_bytes; /* part of these before the headers of aligned blocks */
};

/*
 * Find the large blocks of T, which may be stopped; its arenas are A.  Returns true if all possible
 * places were searched: then the result is complete if NR and BYTES are equal to malloc's own
 * account.  Reads only present pages.
 */
bool large_blocks_find(struct large_blocks *ret, const struct target *t, const struct regions *m,
	const struct arenas *a);

#endif
