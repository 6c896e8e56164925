/*
 * identities: the files that are mapped, each by its device and inode.
 */
#ifndef MEMDIAG_MAPS_IDENTITIES_H
#define MEMDIAG_MAPS_IDENTITIES_H

#include <stddef.h>
#include <stdint.h>

#include "maps/maps.h"

/* A sum of ours and the kernel's own counter of the same. */
struct identity {
	const char *name;
	uint64_t ours_bytes, kernel_bytes;
	const char *explained_by; /* NULL if they are equal */
};

#define NR_IDENTITIES 7

/* Fill RET with those that the data show, and return how many there are. */
size_t space_identities(const struct space *s, struct identity ret[NR_IDENTITIES]);

#endif
