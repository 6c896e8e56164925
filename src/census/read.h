/* read: a census of a process, from one stop. */
#ifndef MEMDIAG_CENSUS_READ_H
#define MEMDIAG_CENSUS_READ_H

#include "base/err.h"
#include "census/census.h"

struct heap;
struct process;
struct space;

/*
 * Read the blocks of P and the pointers between them into C, which must be zeroed or released, and
 * mark those that are reached.  SPACE is the address space of P, read just now.  All threads are
 * stopped as HOW says, as often as heap_read() finds necessary.  HEAP, which must be zeroed, gets
 * the heaps as read in the same stop; the caller releases it.  The result is certain if C->why is
 * "".  Returns 0, or -1 with E, and C and HEAP released: ERR_NO_SAFE_POINT if the memory cannot be
 * read in one stop.
 */
int census_read(struct census *c, struct heap *heap, const struct process *p,
	const struct space *space, const struct census_options *how, struct err *e);

void census_release(struct census *c);
#define auto_census __attribute__((cleanup(census_release)))

#endif
