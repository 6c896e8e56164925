/* place: the object at an address. */
#ifndef MEMDIAG_ACCOUNT_PLACE_H
#define MEMDIAG_ACCOUNT_PLACE_H

#include "elf/objects.h"
#include "glibc/arenas.h"
#include "maps/maps.h"

/* All pointers are into the space. */
struct place {
	raddr addr;
	const struct region *mapping;
	const struct leaf *part;	/* the leaf of the mapping that contains ADDR */
	const struct object *object;	/* NULL: no object */
	const struct arena *arena;	/* NULL: no arena, or unknown */
	uint64_t rss_bytes, swap_bytes; /* of the mapping; 0 if pages were not counted */
};

/*
 * Find the object at ADDR in S.  Returns 0 with *RET; -1 with E, which names the neighbours, if
 * ADDR is not mapped.
 */
int place_find(struct place *ret, const struct space *s, raddr addr, struct err *e);

#endif
