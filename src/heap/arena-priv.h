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

/* ---- arena.c --------------------------------------------------------------------------------- */

/*
 * Read arena A into ARENA, which is zeroed but for nr and may be read again.  BY_LISTS: read only
 * malloc's lists, which is faster where most is in use.  The steps that read no more of the
 * target's memory wait for reader_finish_arenas(); A and ARENA stay in their places. 0, or -1
 * with E.
 */
int reader_read_arena(struct reader *r, const struct arena *a, bool by_lists,
	struct heap_arena *arena, struct err *e);

/* 0, or -1 with E; nothing is unfinished then. */
int reader_finish_arenas(struct reader *r, struct err *e);

/*
 * Read of arena A only what heap_read_tops() promises, into ARENA, which is zeroed but for nr.
 * 0, or -1 with E.
 */
int reader_glance_arena(
	struct reader *r, const struct arena *a, struct heap_arena *arena, struct err *e);

void heap_arena_release(struct heap_arena *arena);

#endif
