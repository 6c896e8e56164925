/*
 * walk: the frames of the thread that asks, from its registers.
 */
#ifndef MEMDIAG_UNWIND_WALK_H
#define MEMDIAG_UNWIND_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/unwind.h"

#pragma GCC visibility push(hidden)

/* ---- readable memory ---- */

struct unwind_thread {
	struct unwind_bounds own; /* the stack that the thread was created with */
	/*
	 * Find the stack that contains SP outside of OWN: a coroutine's, or one for signals.  False
	 * if unknown: the walk ends there.  NULL: all such stacks are unknown.
	 */
	bool (*find)(void *arg, uintptr_t sp, struct unwind_bounds *ret);
	/*
	 * True if the word at AT of such a stack can be read.  With this function, the bounds from
	 * FIND may exceed the stack and contain unmapped memory.  NULL: all words within the bounds
	 * can be read.
	 */
	bool (*may_read)(void *arg, uintptr_t at);
	void *arg;
};

/* ---- the walk ---- */

/* Initialise S for at most MAX frames, at least 1. */
void unwind_stack_init(struct unwind_stack *s, uint32_t max);

/* Make the next walk reuse nothing from S. */
void unwind_stack_forget(struct unwind_stack *s);

/* Copy FROM to TO, which has room for all its frames. */
void unwind_stack_copy(struct unwind_stack *to, const struct unwind_stack *from);

/*
 * True if a walk from REGS->from would find exactly the frames of S; their hashes and nodes are
 * then valid.  The comparison is that of unwind_walk().
 */
bool unwind_is_same(
	struct unwind_stack *s, const struct unwind_regs *regs, const struct unwind_thread *t);

/*
 * Registers, and words at offsets from SP, by which a stack was found.  With the same values, a
 * walk finds the same frames, except for values of FP on which no frame depends.
 */
#define UNWIND_MAX_WORDS 80
struct unwind_words {
	uint32_t nr; /* a multiple of UNWIND_WORDS_STEP; 0: no stack */
	bool needs_fp;
	struct unwind_state from;
	struct unwind_bounds bounds;
	uint64_t generation;
	uint32_t at[UNWIND_MAX_WORDS]; /* bytes from SP; the innermost frame's come first */
	uint64_t value[UNWIND_MAX_WORDS];
};

/*
 * Store the words by which S was found in RET, which is zero or was filled before.  The calling
 * thread has just walked S and is still in its innermost frames.  False if S was cut, if it depends
 * on more than words of the stack, or if it depends on too many words.
 */
bool unwind_note_words(const struct unwind_stack *s, struct unwind_words *ret);

/* True if the stack of REGS has WORDS: it is then the stack of these words. */
bool unwind_has_words(const struct unwind_words *words, const struct unwind_regs *regs,
	const struct unwind_thread *t);

/*
 * Walk from REGS->from outwards.  Afterwards S->frame[S->nr - 1] is that frame, and S->frame[0] the
 * outermost known frame.  The hashes and nodes of the first NR_SAME frames are valid; if NR_SAME is
 * not 0, END is unchanged.  The caller sets those of the other frames.
 */
void unwind_walk(
	struct unwind_stack *s, const struct unwind_regs *regs, const struct unwind_thread *t);

#pragma GCC visibility pop

#endif
