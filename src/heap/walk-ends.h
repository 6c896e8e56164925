/*
 * walk-ends: the end of a piece of free chunks in a walk, and of a segment: top and fence posts.
 * Counts how much of them a trim gives back.
 */
#ifndef MEMDIAG_HEAP_WALK_ENDS_H
#define MEMDIAG_HEAP_WALK_ENDS_H

#include <stdint.h>

#include "heap/pages-priv.h"

struct heap_walk;

/* Report the present piece, which may have whole pages, as PART. */
void walk_end_large_piece(struct heap_walk *w, enum heap_part part);

/* Handle top: free chunks below it become part of it when it is trimmed. */
void walk_take_top(struct heap_walk *w);

/* Count the fence posts, headers that keep free() from reading beyond the end. */
void walk_take_fence(struct heap_walk *w);

/*
 * Handle a chunk of size 0 before STOP: fence posts are at most two headers, and never precede top.
 * Returns 0, or 1 with an inconsistency.
 */
int walk_expect_fence(struct heap_walk *w, uint64_t stop);

#endif
