/* arenas-priv: what the files that know malloc share. */
#ifndef MEMDIAG_MAPS_ARENAS_PRIV_H
#define MEMDIAG_MAPS_ARENAS_PRIV_H

#include "base/word.h"
#include "maps/maps.h"

/* The arena at ADDR, or NULL. */
struct arena *arena_at(const struct arenas *a, raddr addr);

/* Find out a->tls_offset_bytes; leaves it 0 when it cannot be told. */
void arenas_learn_tls_offset(struct arenas *a, const struct target *t, const struct objects *o);

#endif
