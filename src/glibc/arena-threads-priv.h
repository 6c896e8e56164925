/*
 * arena-threads-priv: what other files of glibc/ use of arena-threads.c.
 */
#ifndef MEMDIAG_GLIBC_ARENA_THREADS_PRIV_H
#define MEMDIAG_GLIBC_ARENA_THREADS_PRIV_H

#include "elf/objects.h"
#include "glibc/arenas.h"

struct target;

/* Find a->tls_offset_bytes; leaves it 0 if unknown. */
void arenas_learn_tls_offset(struct arenas *a, const struct target *t, const struct objects *o);

#endif
