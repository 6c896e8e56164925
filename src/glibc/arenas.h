/*
 * glibc: knowledge of glibc's malloc and threads, determined from memory and never from a version
 * number.  This header has the arenas; threads.h has glibc's threads, chunks.h has blocks and
 * pieces in memory.
 */
#ifndef MEMDIAG_GLIBC_ARENAS_H
#define MEMDIAG_GLIBC_ARENAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/raddr.h"
#include "elf/objects.h"
#include "elf/regions.h"

struct target;

/* One 64 MiB-aligned piece of a thread arena (struct heap_info, malloc/arena.c). */
struct arena_heap {
	raddr start;	       /* of the heap_info */
	uint64_t size_bytes;   /* in use by the arena: heap_info.size */
	uint64_t mapped_bytes; /* readable and writable: heap_info.mprotect_size */
};

struct arena {
	raddr addr; /* struct malloc_state; its mutex is the int at offset 0 */
	bool is_main;
	struct arena_heap *heap; /* owned; NULL for the main arena */
	size_t nr_heaps;
	pid_t *tid; /* owned; known threads that are attached to it */
	size_t nr_tids;
};

/* The arenas in the order of the ring that starts at main_arena, which is malloc_info's order. */
struct arenas {
	struct arena *v;
	size_t nr, room;
	unsigned int word_bytes;  /* of a pointer in the target: 8 or 4 */
	unsigned int bins_offset; /* of the bins in struct malloc_state */
	uint64_t heap_max_bytes;  /* HEAP_MAX_SIZE: 64 MiB on 64 bit */
	/* false: memory is damaged or changed; arenas or heaps may be missing */
	bool is_ring_closed;
	raddr brk_at;		  /* where libc keeps the end of brk's memory; {0}: unknown */
	int64_t tls_offset_bytes; /* from a thread's robust list head to the pointer; 0: unknown */
};

/*
 * Return the end of brk's memory for malloc, from libc's __curbrk (misc/sbrk.c): the kernel shows
 * only the mapping in which it ends, and other memory may have merged with that.  {0}: unknown.
 */
raddr arenas_brk(const struct arenas *a, const struct target *t);

/*
 * Find main_arena by its initialiser in the file of libc or of the static program, or by the shape
 * of its bins in memory, which proves it in any case; then the ring and the heaps (malloc/malloc.c
 * struct malloc_state).  No thread is stopped.  ERR_UNSUPPORTED if no glibc malloc is found or its
 * ring is invalid.  KNOWN, the result for the same target a moment ago (NULL: no earlier result),
 * saves the search; ring and heaps are read again in any case.
 */
int arenas_find(struct arenas *a, const struct target *t, const struct regions *m,
	const struct objects *o, const struct arenas *known, struct err *e);
void arenas_release(struct arenas *a);
#define auto_arenas __attribute__((cleanup(arenas_release)))

/*
 * Read ring and heaps of KNOWN, the result for the same target a moment ago, again into A, which
 * must be zeroed or released, until DEADLINE_NS of os_now_ns() (0: no deadline).  A contains the
 * main arena in any case; if something could not be read in time, the ring is not closed.  0, or -1
 * with E.
 */
int arenas_read_again(struct arenas *a, const struct target *t, const struct regions *m,
	const struct arenas *known, uint64_t deadline_ns, struct err *e);

#endif
