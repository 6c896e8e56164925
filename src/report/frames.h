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
	STACKS_COMPLETE, /* the thread's first function, found by unwind tables or frame pointers */
	/* further frames exist, beyond memdiag's limit or what could be copied or read in time */
	STACKS_CUT,
	STACKS_BROKEN,	/* neither tables nor the frame pointer lead any further */
	STACKS_MISSING, /* unreadable: no frames */
};
/* The source of a frame; several bits may be set. */
enum {
	STACKS_BY_FRAME_POINTER = 1, /* a guess: its callee has no unwind table */
	STACKS_SIGNAL = 2, /* the trampoline of a signal handler: the next frame was interrupted */
};

/* STACKS_ bits of each of a profile's stack_frames. */
struct stacks_marks {
	uint8_t *v; /* owned */
	size_t nr, room;
};

/*
 * Print the frames of STACK of P, one per line, and the meaning of END below unless the stack is
 * complete.
 */
void frames_print(const struct profile *p, uint32_t stack, const struct stacks_marks *marks,
	enum stacks_end end, FILE *f);
/* Print the MOST innermost frames likewise, and the number of the others. */
void frames_print_top(const struct profile *p, uint32_t stack, const struct stacks_marks *marks,
	size_t most, FILE *f);
/*
 * Print the functions of the stack on one line, from frame FIRST outwards; at most NR_COLUMNS
 * characters, unless that is 0.
 */
void frames_print_line(
	const struct profile *p, uint32_t stack, uint32_t first, int nr_columns, FILE *f);
/*
 * Return the names of the functions from the innermost outwards, with the place of a function
 * without a name.
 */
json_t *frames_names_json(const struct profile *p, uint32_t stack);
json_t *frames_json(const struct profile *p, uint32_t stack, const struct stacks_marks *marks);

#endif
