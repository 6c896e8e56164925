/*
 * identities: the files that are mapped, each by its device and inode.
 */
#ifndef MEMDIAG_MAPS_IDENTITIES_H
#define MEMDIAG_MAPS_IDENTITIES_H

#include <stddef.h>
#include <stdint.h>

#include "maps/maps.h"

/* Our sum and the kernel's counter for the same value. */
struct identity {
	const char *name;
	uint64_t ours_bytes, kernel_bytes;
	const char *explained_by; /* NULL if they are equal */
};

#define NR_IDENTITIES 7

/* Fill RET with the identities that the data allow, and return their number. */
size_t space_identities(const struct space *s, struct identity ret[NR_IDENTITIES]);

#endif
