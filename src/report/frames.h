/*
 * frames: the frames of one stack, as text and JSON.
 */
#ifndef MEMDIAG_REPORT_FRAMES_H
#define MEMDIAG_REPORT_FRAMES_H

#include <jansson.h>
#include <stdio.h>

#include "profile/profile.h"

/* The outer end of a stack. */
enum stacks_end {
	STACKS_COMPLETE, /* the thread's first function, by unwind tables or frame pointers */
	STACKS_CUT,	 /* there is more, than memdiag keeps or than was copied or read in time */
	STACKS_BROKEN,	 /* neither tables nor the frame pointer lead further */
	STACKS_MISSING,	 /* it could not be read: there are no frames */
};
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
 * The frames of STACK of P, a line for each, and below them what END means unless the stack is
 * complete.
 */
void frames_print(const struct profile *p, uint32_t stack, const struct stacks_marks *marks,
	enum stacks_end end, FILE *f);
/*
 * The functions of the stack on one line, from frame FIRST on outwards; at most NR_COLUMNS of it,
 * if that is not 0.
 */
void frames_print_line(
	const struct profile *p, uint32_t stack, uint32_t first, int nr_columns, FILE *f);
/* The names of its functions, from the innermost on, and the places of those without a name. */
json_t *frames_names_json(const struct profile *p, uint32_t stack);
json_t *frames_json(const struct profile *p, uint32_t stack, const struct stacks_marks *marks);

#endif
