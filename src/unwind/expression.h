/*
 * expression: DWARF expressions in rules of frames.
 */
#ifndef MEMDIAG_UNWIND_EXPRESSION_H
#define MEMDIAG_UNWIND_EXPRESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/bytes.h"
#include "unwind/processor.h"
#include "unwind/unwind.h"
#include "unwind/walk.h"

#pragma GCC visibility push(hidden)

/* The known registers of one frame, and the stack. */
struct unwind_context {
	uintptr_t reg[UNWIND_NR_REGS];
	uint64_t known;			     /* bit R: reg[R] is known */
	struct unwind_bounds bounds;	     /* all of it is mapped unless CHECKER must be asked */
	const struct unwind_thread *checker; /* see struct unwind_walk */
	uint64_t used;			     /* bit R: an expression has read reg[R] */
	bool has_read;			     /* an expression has read memory */
};

/* Read a word of the stack.  False if it is outside of the stack. */
bool unwind_read(const struct unwind_context *c, uint64_t at, uint64_t *ret);

/*
 * Evaluate EXPRESSION; INITIAL, if not NULL, is the first value on its stack.  False if it needs an
 * unknown value or is invalid.
 */
bool unwind_evaluate(
	struct unwind_context *c, struct bytes expression, const uint64_t *initial, uint64_t *ret);

#pragma GCC visibility pop

#endif
