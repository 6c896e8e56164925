/* arenas-priv: what the files that know malloc share. */
#ifndef MEMDIAG_MAPS_ARENAS_PRIV_H
#define MEMDIAG_MAPS_ARENAS_PRIV_H

#include <string.h>

#include "maps/maps.h"

/* A word of the target, which has WORD_BYTES (4 or 8). */
static inline uint64_t
word_from(const char *at, unsigned int word_bytes)
{
	uint64_t word;
	uint32_t half;

	if (word_bytes == sizeof word) {
		memcpy(&word, at, sizeof word);
		return word;
	}
	memcpy(&half, at, sizeof half);
	return half;
}

/* The arena at ADDR, or NULL. */
struct arena *arena_at(const struct arenas *a, raddr addr);

/* Find out a->tls_offset_bytes; leaves it 0 when it cannot be told. */
void arenas_learn_tls_offset(struct arenas *a, const struct target *t, const struct objects *o);

#endif
