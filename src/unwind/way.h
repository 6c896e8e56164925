/*
 * way: from a function of the caller's own code to the first frame outside of that code.
 */
#ifndef MEMDIAG_UNWIND_WAY_H
#define MEMDIAG_UNWIND_WAY_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/unwind-priv.h"
#include "unwind/unwind.h"

#pragma GCC visibility push(hidden)

/*
 * The return addresses between a function and the first frame outside, at distances from SP.  In
 * code that is never unloaded, and whose rules need SP alone, a return address determines the
 * distance to the next one.  So with the same return addresses a walk finds the frame outside at
 * the same distance.
 */
#define UNWIND_WAY_FRAMES 6
struct unwind_way {
	uintptr_t pc; /* of the function; 0: no way */
	uint32_t nr;  /* number of return addresses; the last one is that of the frame outside */
	uint32_t at[UNWIND_WAY_FRAMES]; /* bytes from SP */
	uintptr_t value[UNWIND_WAY_FRAMES - 1];
	uint32_t sp_at; /* SP of the frame outside, in bytes from SP */
	bool has_fp;	/* its FP is saved at FP_AT; otherwise FP is unchanged */
	uint32_t fp_at;
};

/*
 * Store the way from REGS to the frame number OUTSIDE of S in RET; S is the result of a walk from
 * REGS->pc.  RET has no way if it is too long, or if a rule needs more than SP.
 */
void unwind_way_learn(const struct unwind_stack *s, const struct unwind_regs *regs,
	uint32_t outside, struct unwind_way *ret);

static inline UNWIND_UNCHECKED uintptr_t
unwind_way_word(uintptr_t at)
{
	return *(const volatile uintptr_t *)at;
}

/*
 * Go WAY from REGS, and set REGS->from to the frame outside.  False if the function was reached by
 * another one.
 */
static inline __attribute__((always_inline)) bool
unwind_way_go(const struct unwind_way *way, struct unwind_regs *regs)
{
	const uintptr_t sp = regs->sp;

	if (UNWIND_UNLIKELY(way->pc != regs->pc))
		return false;
	/* Only the right return address shows that the stack reaches to the next one. */
	for (uint32_t i = 1; i < way->nr; i++)
		if (unwind_strip(unwind_way_word(sp + way->at[i - 1])) != way->value[i - 1])
			return false;
	regs->from.pc = unwind_strip(unwind_way_word(sp + way->at[way->nr - 1]));
	regs->from.sp = sp + way->sp_at;
	regs->from.fp = way->has_fp ? unwind_way_word(sp + way->fp_at) : regs->fp;
	regs->from.is_exact = false;
	return true;
}

#pragma GCC visibility pop

#endif
