/*
 * repeats: files that are mapped more than once.
 */
#ifndef MEMDIAG_MAPS_REPEATS_H
#define MEMDIAG_MAPS_REPEATS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "maps/maps.h"

/* ---- repeats: files that are mapped more than once ------------------------------------------- */

struct repeat {
	const char *path; /* owned by the space */
	/* counted again in VIRT: ranges whose file pages are also mapped elsewhere */
	uint64_t virt_bytes;
	uint64_t rss_bytes; /* counted again in RSS: an upper bound */
};

struct repeats {
	struct repeat *v; /* the largest first */
	size_t nr, room;
};

/*
 * Fill R, which must be zeroed or released and must not outlive S.  0, or -1 with E and R released.
 */
int repeats_find(struct repeats *r, const struct space *s, struct err *e);
void repeats_release(struct repeats *r);
#define auto_repeats __attribute__((cleanup(repeats_release)))

#endif
