/*
 * walked: stacks that were walked, as stacks of a profile.
 */
#ifndef MEMDIAG_CAPTURE_WALKED_H
#define MEMDIAG_CAPTURE_WALKED_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "report/frames.h"
#include "stack/stack.h"

/* The names of enum stacks_end in JSON, in that order. */
extern const char *const stacks_end_names[];

enum stacks_end stacks_end_of(const struct stack *s);

/*
 * The number of S in P, to which it is added with its MARKS if P does not have it, into *RET.  0,
 * or -1 with E for lack of memory.
 */
int stacks_add_walked(struct profile *p, struct stacks_marks *marks, const struct stack *s,
	uint32_t *ret, struct err *e);

#endif
