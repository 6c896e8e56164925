/*
 * walk: the chunks of a segment, one after another.
 */
#ifndef MEMDIAG_HEAP_WALK_H
#define MEMDIAG_HEAP_WALK_H

#include <stdint.h>

uint64_t heap_size_from(unsigned int size_class); /* Return the smallest chunk of a class. */
unsigned int heap_size_class(uint64_t chunk_bytes);

#endif
