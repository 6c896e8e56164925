/*
 * arena-heaps-priv: what other files of glibc/ use of arena-heaps.c.
 */
#ifndef MEMDIAG_GLIBC_ARENA_HEAPS_PRIV_H
#define MEMDIAG_GLIBC_ARENA_HEAPS_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/raddr.h"
#include "glibc/arenas.h"

/* The header of a heap of a thread arena (malloc/arena.c). */
struct heap_info {
	raddr arena, prev;
	uint64_t size_bytes, mprotect_bytes;
};

/*
 * Parse a heap_info from BUF, with the word size and the maximum heap size of the arenas.  False if
 * it cannot be one.
 */
bool heap_info_parse(
	struct heap_info *ret, const char *buf, unsigned int word_bytes, uint64_t heap_max_bytes);

/* Return whether ADDR is the place of a thread arena's struct malloc_state in its first heap. */
bool is_behind_heap_info(raddr addr, unsigned int word_bytes, uint64_t heap_max_bytes);

/* Return the arena at ADDR, or NULL. */
struct arena *arena_at(const struct arenas *a, raddr addr);

#endif
