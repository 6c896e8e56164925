/*
 * place: what lies at an address.
 */
#ifndef MEMDIAG_ACCOUNT_PLACE_H
#define MEMDIAG_ACCOUNT_PLACE_H

#include "elf/objects.h"
#include "glibc/arenas.h"
#include "maps/maps.h"

/* All pointers are into the space. */
struct place {
	raddr addr;
	const struct region *mapping;
	const struct leaf *part;	/* the leaf of the mapping that ADDR is in */
	const struct object *object;	/* NULL: none */
	const struct arena *arena;	/* NULL: none, or not known */
	uint64_t rss_bytes, swap_bytes; /* of the mapping; 0 if pages were not counted */
};

/*
 * Find what is at ADDR in S.  0 with *RET; -1 with E, which names the neighbours, if nothing is
 * mapped there.
 */
int place_find(struct place *ret, const struct space *s, raddr addr, struct err *e);

#endif
