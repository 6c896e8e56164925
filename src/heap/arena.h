/*
 * arena: an arena of malloc: its free chunks, its top and its sums.
 */
#ifndef MEMDIAG_HEAP_ARENA_H
#define MEMDIAG_HEAP_ARENA_H

#include "heap/heap.h"

const char *heap_certainty_name(enum heap_certainty c);

#endif
