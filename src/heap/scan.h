/*
 * scan: the beginning of a walk: segments, and the doubts about an arena.
 */
#ifndef MEMDIAG_HEAP_SCAN_H
#define MEMDIAG_HEAP_SCAN_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "glibc/arenas.h"
#include "glibc/layout.h"
#include "heap/heap.h"
#include "heap/pages-priv.h"

struct reader;
struct scan;

/* Return the start of brk's memory, from malloc's variable or the kernel's name; 0: unknown. */
uint64_t brk_start(const struct reader *r);

/* Return the bytes of the main arena of A by its own account; 0 if they cannot be read. */
uint64_t main_system_bytes(const struct reader *r, const struct arenas *a);

/*
 * In an arena in pieces add the mapping of ADDR as a piece, unless it is a piece already.  Returns
 * 0, or -1 with E.
 */
int scan_add_piece(struct scan *s, uint64_t addr, struct err *e);

/* Add [START, END) to the arena's segments.  0, or -1 with E. */
int scan_add_segment(struct scan *s, uint64_t start, uint64_t end, struct err *e);

/* Return the first chunk at or above ADDR whose block is aligned. */
uint64_t scan_align_chunk(const struct malloc_layout *l, uint64_t addr);

/* Return the segment of the arena that contains ADDR, or -1. */
ssize_t segment_at(const struct heap_arena *arena, uint64_t addr);

/* Return the index (glibc's) of the bin for chunks of BYTES: 2 to 126 (bin_index()). */
unsigned int bin_of(const struct malloc_layout *l, uint64_t bytes);

/* Store the reason why ARENA is not exact, if it is the first one.  Returns 1. */
int heap_arena_doubt(struct heap_arena *arena, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int heap_arena_doubt_late(struct heap_arena *arena);

#endif
