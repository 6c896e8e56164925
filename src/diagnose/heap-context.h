/*
 * heap-context: the address space around malloc's arenas, read before the heaps: it has the blocks
 * with separate mappings, and the heaps are compared with it.
 */
#ifndef MEMDIAG_DIAGNOSE_HEAP_CONTEXT_H
#define MEMDIAG_DIAGNOSE_HEAP_CONTEXT_H

#include "account/mmapped.h"
#include "maps/maps.h"

struct heap_context {
	struct space space;
	struct err error; /* kind is 0 if SPACE was read */
	struct heap_mmapped mmapped;
};

/*
 * Fill S, which must be zeroed or released, with the address space of P, which was just read, gets
 * its arenas here, and must outlive S.  No thread is stopped.  Returns 0, or -1 with E.  If the
 * layout of malloc is unknown or the space is unreadable, it returns 0 and s->error has the reason.
 */
int heap_context_read(struct heap_context *s, struct process *p, struct err *e);
void heap_context_release(struct heap_context *s);
#define auto_heap_context __attribute__((cleanup(heap_context_release)))

#endif
