/*
 * step: a step from a frame to its caller by a full row.
 */
#ifndef MEMDIAG_UNWIND_STEP_H
#define MEMDIAG_UNWIND_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/unwind-priv.h"
#include "unwind/unwind.h"
#include "unwind/walk.h"

#pragma GCC visibility push(hidden)

struct unwind_walk {
	const struct unwind_regs *regs;
	const struct unwind_thread *thread;
	struct unwind_bounds bounds; /* the readable part of the stack: see unwind_bounds_from() */
	/* THREAD if it must be asked before each word of this stack is read; else NULL. */
	const struct unwind_thread *checker;
	bool has_moved; /* the walk has left the stack on which it began */
	uint64_t generation;
};

enum unwind_step {
	STEP_DONE,
	STEP_OUTERMOST,
	STEP_BROKEN,
};

/*
 * Step by a rule other than RULE_PLAIN. *RET is the member how of struct unwind_frame, without
 * UNWIND_EXACT and UNWIND_OF_TABLE.
 */
enum unwind_step unwind_step_slowly(
	struct unwind_walk *w, struct unwind_state *s, unwind_rule rule, uint32_t *ret);

/* Get the bounds for a walk from SP on.  False if SP is in no known stack. */
bool unwind_find_bounds(const struct unwind_thread *t, uintptr_t sp, struct unwind_bounds *ret);

#pragma GCC visibility pop

#endif
