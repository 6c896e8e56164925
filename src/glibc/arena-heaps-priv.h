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
 * Read a heap_info from BUF, for a heap of words and a maximum as A has them.  False if it cannot
 * be one.
 */
bool heap_info_parse(
	struct heap_info *ret, const char *buf, unsigned int word_bytes, uint64_t heap_max_bytes);

/* Whether ADDR is where a thread arena's struct malloc_state would be in its first heap. */
bool is_behind_heap_info(raddr addr, unsigned int word_bytes, uint64_t heap_max_bytes);

/* The arena at ADDR, or NULL. */
struct arena *arena_at(const struct arenas *a, raddr addr);

#endif
