/*
 * arena-priv: what other files of heap/ use of arena.c.
 */
#ifndef MEMDIAG_HEAP_ARENA_PRIV_H
#define MEMDIAG_HEAP_ARENA_PRIV_H

#include <stdbool.h>

#include "base/err.h"
#include "glibc/arenas.h"
#include "heap/heap.h"

struct reader;

/*
 * Read arena A into ARENA, which is zeroed except nr and may be read again.  BY_LISTS: read only
 * malloc's lists, which is faster if most chunks are in use.  The steps that do not read the
 * target's memory wait for reader_finish_arenas(); A and ARENA must not move.  0, or -1 with E.
 */
int reader_read_arena(struct reader *r, const struct arena *a, bool by_lists,
	struct heap_arena *arena, struct err *e);

/* Finish all unfinished arenas.  0, or -1 with E. */
int reader_finish_arenas(struct reader *r, struct err *e);

/*
 * Read only what heap_read_tops() promises of arena A, into ARENA, which is zeroed except nr.  0,
 * or -1 with E.
 */
int reader_glance_arena(
	struct reader *r, const struct arena *a, struct heap_arena *arena, struct err *e);

void heap_arena_release(struct heap_arena *arena);

#endif
