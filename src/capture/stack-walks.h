/* stack-walks: stacks from a walk, as stacks of a profile. */
#ifndef MEMDIAG_CAPTURE_STACK_WALKS_H
#define MEMDIAG_CAPTURE_STACK_WALKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "report/frames.h"
#include "stack/stack.h"

/* The names of enum stacks_end in JSON, in that order. */
extern const char *const stacks_end_names[];

enum stacks_end stacks_end_of(const struct stack *s);

/*
 * Store the number of S in P in *RET; add S with its MARKS if P does not have it.  0, or -1 with E
 * if memory runs out.
 */
int stacks_add_walk(struct profile *p, struct stacks_marks *marks, const struct stack *s,
	uint32_t *ret, struct err *e);

#endif
