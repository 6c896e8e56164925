/* roots: the addresses of blocks in the memory that is not malloc's, and in registers. */
#ifndef MEMDIAG_CENSUS_ROOTS_H
#define MEMDIAG_CENSUS_ROOTS_H

#include "base/err.h"
#include "census/census.h"

struct census_type_table;
struct heap_look;
struct objects;
struct thread_stacks;
struct threads;

void census_roots_release(struct census_roots *r);

/* Facts about a process from before it is stopped. */
struct census_before {
	const struct objects *objects;
	const struct threads *threads;
	const struct thread_stacks *stacks;
	const struct census_options *how;
};

/*
 * Read the roots of C, whose chunks were read in the same stop, in the memory of LOOK: all memory
 * that the program can write, and read-only memory that it has written, except what is malloc's
 * own, what is below the stack pointers, the stacks of threads that have ended, and what is to be
 * skipped.  BEFORE was read
 * before the stop: what it says of a stack is used only where the registers agree.  Returns 0, 1
 * if the deadline has passed, or -1 with E.
 */
int census_roots_read(struct census *c, const struct heap_look *look,
	const struct census_before *before, struct err *e);

/* Replace granules by chunks, and drop roots that point to no block. */
void census_roots_resolve(
	struct census_roots *r, const struct census_chunks *c, const struct census_slots *s);

#endif
