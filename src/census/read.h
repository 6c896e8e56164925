/* read: a census of a process, from one stop. */
#ifndef MEMDIAG_CENSUS_READ_H
#define MEMDIAG_CENSUS_READ_H

#include "base/err.h"
#include "census/census.h"

struct census_type_table;
struct heap;
struct process;
struct space;

struct census_options {
	/*
	 * All threads are stopped for at most this at a time, as often as heap_read() finds
	 * necessary; 0: they are not stopped.
	 */
	uint64_t max_stop_ns;
	const struct census_type_table *types; /* NULL: types are not looked for */
};

/*
 * Read the blocks of P and the pointers between them into C, which must be zeroed or released,
 * and mark those that are reached.  SPACE is the address space of P, read just now.  HEAP, which
 * must be releases it.  The result is certain if C->why is "".  Returns 0, or -1 with E, and C
 * and HEAP released: ERR_NO_SAFE_POINT if the memory cannot be read in one stop.
 */
int census_read(struct census *c, struct heap *heap, const struct process *p,
	const struct space *space, const struct census_options *opt, struct err *e);

void census_release(struct census *c);
#define auto_census __attribute__((cleanup(census_release)))

#endif
