/*
 * walk-priv: what other files of heap/ use of walk.c.
 */
#ifndef MEMDIAG_HEAP_WALK_PRIV_H
#define MEMDIAG_HEAP_WALK_PRIV_H

#include <stddef.h>

#include "base/err.h"

struct scan;

/*
 * Walk segment SEG of the arena: chunk by chunk, or by lists from one free chunk to the next.
 * Returns 0 if all its chunks are sound, else 1 with the reason in the arena.
 */
int walk_segment(struct scan *s, size_t seg, struct err *e);

#endif
