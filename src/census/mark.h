/* mark: which blocks are reached. */
#ifndef MEMDIAG_CENSUS_MARK_H
#define MEMDIAG_CENSUS_MARK_H

#include "base/err.h"
#include "census/census.h"

/* A list of chunks yet to be looked at. */
struct census_stack {
	uint32_t *v; /* owned */
	size_t nr, room;
};

/* Add CHUNK, unless it has FLAG already.  Returns 0, or -1 without memory. */
int census_stack_push(struct census_stack *s, struct census *c, uint32_t chunk, uint8_t flag);

/* Give CENSUS_REACHED to the blocks that the roots lead to.  Returns 0, or -1 with E. */
int census_mark(struct census *c, struct err *e);
/* Likewise to the blocks in S, which is emptied, and to those that they lead to. */
int census_mark_from(struct census_stack *s, struct census *c, struct err *e);

#endif
