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

struct process;

struct heap_options {
	uint64_t max_stop_ns; /* the longest the target may be stopped at a time; 0: not at all */
	bool want_uss;	      /* find out how much of what trim returns no other process shares */
	uint64_t pad_bytes;   /* forecast malloc_trim() of this */
	bool with_tops;	      /* forecast that the tops of thread arenas are given back as well */
	bool bins_only;	      /* free chunks by malloc's lists; no chunk in use is looked at */
	bool one_look;	      /* do not try again with an arena that could not be read exactly */
	/* P was read just now: unless the target is stopped its mappings are not read again. */
	bool is_fresh;
	/*
	 * If not NULL, called with ARG and the mappings of the moment at each look at the target,
	 * while it is stopped if it is.
	 */
	void (*beside)(const struct regions *m, void *arg);
	void *arg;
};

/*
 * Read the heaps of P into H, which must be zeroed or released; P's arenas, if they were found,
 * save the search.  Only pages that are present are read, so that the target's pages stay as they
 * are; but where /proc/PID/pagemap cannot be read all are, and those in swap come back, and those
 * never touched become the zero page.  Data that may have been torn is kept, and marked in its
 * arena.  Returns 0, or -1 with E and H released.
 */
int heap_read(
	struct heap *h, const struct process *p, const struct heap_options *opt, struct err *e);

/*
 * As heap_read(), but of each of P's arenas, which were found, only the header, the top chunk, and
 * in thread arenas what is resident of its pages: page_bytes[HEAP_PAGE_TOP], which has_pages does
 * not speak of.  A main arena that is not contiguous has resident_bytes, too, as far as its pieces
 * are easily found.  Nothing is stopped, and no chunk but the top is read, and only the counts of
 * the threads' caches.
 */
int heap_read_tops(struct heap *h, const struct process *p, struct err *e);

void heap_release(struct heap *h);
#define auto_heap __attribute__((cleanup(heap_release)))

#endif
