/*
 * read: a heap, read in one stop.
 */
#ifndef MEMDIAG_HEAP_READ_H
#define MEMDIAG_HEAP_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "elf/regions.h"
#include "heap/heap.h"

struct heap_visitor;
struct process;

struct heap_options {
	uint64_t max_stop_ns; /* maximum duration of a stop; 0: do not stop the target */
	bool want_uss;	      /* find how much of the released memory no other process shares */
	uint64_t pad_bytes;   /* argument of the malloc_trim() to forecast */
	bool with_tops;	      /* forecast that the tops of thread arenas are released as well */
	bool bins_only;	      /* free chunks by malloc's lists; chunks in use are not read */
	bool one_look;	      /* do not retry an arena that could not be read exactly */
	/* P was read just now: its mappings are not read again unless the target is stopped. */
	bool is_fresh;
	/*
	 * If not NULL, called with ARG and the present mappings at each read of the target, also
	 * while it is stopped.
	 */
	void (*beside)(const struct regions *m, void *arg);
	void *arg;
	/*
	 * If not NULL, every look reads all arenas, chunk by chunk and with their contents, within
	 * one stop: ERR_NO_SAFE_POINT if MAX_STOP_NS is too short for that.  The last look counts.
	 */
	const struct heap_visitor *visitor;
};

/*
 * Read the heaps of P into H, which must be zeroed or released; P's arenas, if they were found,
 * save the search.  Only present pages are read, so that the target's pages do not change; but if
 * /proc/PID/pagemap cannot be read, all pages are: those in swap come back, and those never touched
 * become the zero page.  Data that may have been torn is kept, and marked in its arena.  Returns 0,
 * or -1 with E and H released.
 */
int heap_read(
	struct heap *h, const struct process *p, const struct heap_options *opt, struct err *e);

/*
 * As heap_read(), but of each of P's arenas, which were found, read only the header, the top chunk,
 * and in thread arenas its resident pages: page_bytes[HEAP_PAGE_TOP], to which has_pages does not
 * apply.  A main arena that is not contiguous also has resident_bytes, for pieces that are easily
 * found.  No thread is stopped, and no chunk except the top is read.  The layout lacks the threads'
 * caches.
 */
int heap_read_tops(struct heap *h, const struct process *p, struct err *e);

/* As heap_read_tops(), and the counts of the threads' caches, whose lists are not followed. */
int heap_read_counts(struct heap *h, const struct process *p, struct err *e);

void heap_release(struct heap *h);
#define auto_heap __attribute__((cleanup(heap_release)))

#endif
