/* glibc-priv: what the files of glibc/ share. */
#ifndef MEMDIAG_GLIBC_GLIBC_PRIV_H
#define MEMDIAG_GLIBC_GLIBC_PRIV_H

#include "base/word.h"
#include "glibc/arenas.h"

struct target;

/* The header of a heap of a thread arena (malloc/arena.c). */
struct heap_info {
	raddr arena, prev;
	uint64_t size_bytes, mprotect_bytes;
};

#define HEAP_INFO_WORDS 4 /* there may be more */

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

/* Find a->tls_offset_bytes; leaves it 0 if unknown. */
void arenas_learn_tls_offset(struct arenas *a, const struct target *t, const struct objects *o);

#endif
