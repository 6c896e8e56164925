/*
 * large: blocks with mappings of their own, by what is in memory.
 */
#ifndef MEMDIAG_AGENTCTL_LARGE_H
#define MEMDIAG_AGENTCTL_LARGE_H

#include "glibc/arenas.h"

struct regions;
struct target;

/* Blocks with mappings of their own, as far as their headers were found. */
struct large_blocks {
	uint64_t nr, bytes;  /* of whole pages */
	uint64_t lead_bytes; /* of these, what lies before the headers of aligned blocks */
};

/*
 * Find those of T, which may stand; A are its arenas. True if all that could be was searched: what
 * was found is then complete if NR and BYTES are malloc's own account. Reads present pages only.
 */
bool large_blocks_find(struct large_blocks *ret, const struct target *t, const struct regions *m,
	const struct arenas *a);

#endif
