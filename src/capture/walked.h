/*
 * walked: stacks that were walked, as stacks of a profile.
 */
#ifndef MEMDIAG_CAPTURE_WALKED_H
#define MEMDIAG_CAPTURE_WALKED_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "report/profile.h"
#include "stack/stack.h"

/* The outer end of a stack. */
enum stacks_end {
	STACKS_COMPLETE, /* the thread's first function, by unwind tables or frame pointers */
	STACKS_CUT,	 /* there is more, than memdiag keeps or than was copied or read in time */
	STACKS_BROKEN,	 /* neither tables nor the frame pointer lead further */
	STACKS_MISSING,	 /* it could not be read: there are no frames */
};
/* Their names in JSON, in that order. */
extern const char *const stacks_end_names[];

enum stacks_end stacks_end_of(const struct stack *s);

/* The source of a frame; several may be true. */
enum {
	STACKS_BY_FRAME_POINTER = 1, /* a guess: its callee has no unwind table */
	STACKS_SIGNAL = 2, /* the trampoline of a signal handler: the next one was interrupted */
};

/* STACKS_ of each of a profile's stack_frames. */
struct stacks_marks {
	uint8_t *v; /* owned */
	size_t nr, room;
};

/*
 * The number of S in P, to which it is added with its MARKS if P does not have it, into *RET.  0,
 * or -1 with E for lack of memory.
 */
int stacks_add_walked(struct profile *p, struct stacks_marks *marks, const struct stack *s,
	uint32_t *ret, struct err *e);

#endif
