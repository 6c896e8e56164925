/*
 * tcache: the caches of threads.
 */
#ifndef MEMDIAG_HEAP_TCACHE_H
#define MEMDIAG_HEAP_TCACHE_H

#include "base/err.h"

struct reader;

/* Fill the heap's threads and the reader's marks of cached chunks. */
int tcaches_read(struct reader *r, struct err *e);

/*
 * Fill the heap's threads from the counts of their caches alone: approximately what they have.  0
 * or -1 with E.
 */
int tcaches_glance(struct reader *r, struct err *e);

#endif
