#include <config.h>

#include "unwind/step.h"

#include "unwind/expression.h"
#include "unwind/objects-priv.h"
#include "unwind/program.h"
#include "unwind/tables.h"

#define WORD sizeof(uint64_t)
/* Limit on steps: two stacks may lead to each other forever. */
#define MAX_STEPS 65536
#define BIT(r) (UINT64_C(1) << (r))

/* ---- bounds ---- */

static bool
step_is_in(const struct unwind_bounds *b, uintptr_t sp)
{
	return sp >= b->start && sp < b->end;
}

bool
unwind_find_bounds(const struct unwind_thread *t, uintptr_t sp, struct unwind_bounds *ret)
{
	if (step_is_in(&t->own, sp))
		*ret = t->own;
	else if (!t->find || !t->find(t->arg, sp, ret) || !step_is_in(ret, sp))
		return false;
	return ret->start < ret->end && ret->end <= UINTPTR_MAX - WORD;
}

/*
 * Switch to the stack that contains SP, after a signal, which may have been delivered on another
 * stack.  Bounds with a checker may contain several stacks.
 */
static bool
follow_stack(struct unwind_walk *w, uintptr_t sp)
{
	struct unwind_bounds b;

	if (step_is_in(&w->bounds, sp) && !w->checker)
		return true;
	if (!unwind_find_bounds(w->thread, sp, &b))
		return false;
	w->has_moved = true;
	w->bounds = unwind_bounds_from(&b, sp);
	w->checker = unwind_checker_of(w->thread, &b);
	return true;
}

/* ---- with all registers ---- */

struct full {
	struct unwind_context c;
	struct unwind_state s; /* the pc, sp and fp, which are in C as well */
};

static void
set_register(struct unwind_context *c, unsigned int r, uint64_t value)
{
	c->reg[r] = value;
	c->known |= BIT(r);
}

/* Set F from the state S, which is all that is known of the frame. */
static void
full_of_state(struct full *f, const struct unwind_walk *w, const struct unwind_state *s)
{
	f->s = *s;
	f->c.known = 0;
	f->c.bounds = w->bounds;
	f->c.checker = w->checker;
	set_register(&f->c, UNWIND_SP, s->sp);
	set_register(&f->c, UNWIND_FP, s->fp);
#ifndef UNWIND_AARCH64
	set_register(&f->c, UNWIND_RA, s->pc);
#endif
}

/* Get the value of register R in the caller.  False if unknown. */
static bool
register_of_caller(
	const struct unwind_row *row, struct full *f, uint64_t cfa, unsigned int r, uint64_t *ret)
{
	uint64_t at = cfa + (uint64_t)row->at[r];

	switch (row->how[r]) {
	case HOW_SAME:
		*ret = f->c.reg[r];
		return f->c.known >> r & 1;
	case HOW_OFFSET:
		return unwind_read(&f->c, at, ret);
	case HOW_VALUE:
		*ret = at;
		return true;
	case HOW_REGISTER:
		if (row->at[r] < 0 || row->at[r] >= UNWIND_NR_REGS)
			return false;
		*ret = f->c.reg[row->at[r]];
		return f->c.known >> row->at[r] & 1;
	case HOW_EXPRESSION:
		return unwind_evaluate(&f->c, unwind_row_expression(row, r), &cfa, &at) &&
			unwind_read(&f->c, at, ret);
	case HOW_VALUE_EXPRESSION:
		return unwind_evaluate(&f->c, unwind_row_expression(row, r), &cfa, ret);
	default:
		return false;
	}
}

static bool
find_cfa(const struct unwind_row *row, struct full *f, uint64_t *ret)
{
	if (row->has_cfa_expression)
		return unwind_evaluate(&f->c, row->cfa_expression, NULL, ret);
	if (row->cfa_reg >= UNWIND_NR_REGS || !(f->c.known >> row->cfa_reg & 1))
		return false;
	*ret = f->c.reg[row->cfa_reg] + (uint64_t)row->cfa_at;
	return true;
}

/*
 * True if the caller's stack pointer is plausible: it is above the callee's, except that a signal
 * may be delivered on another stack.
 */
static bool
accept_sp(struct unwind_walk *w, const struct unwind_state *old, uint64_t sp, bool is_signal)
{
	if (sp % WORD)
		return false;
	if (is_signal)
		return sp != old->sp && follow_stack(w, sp) &&
			(sp > old->sp || w->checker || !step_is_in(&w->bounds, old->sp));
	/* On aarch64 a function without a frame has the SP of its caller. */
	return sp <= w->bounds.end &&
		(sp > old->sp || (old->is_exact && sp == old->sp && UNWIND_LEAF));
}

static enum unwind_step
step_by_row(struct unwind_walk *w, struct full *f, const struct unwind_row *row)
{
	struct full caller;
	uint64_t cfa, value, pc;

	if (row->how[row->ra] == HOW_UNDEFINED)
		return STEP_OUTERMOST;
	if (!find_cfa(row, f, &cfa) || !register_of_caller(row, f, cfa, row->ra, &pc))
		return STEP_BROKEN;
	caller.c.known = 0;
	for (unsigned int r = 0; r < UNWIND_NR_REGS; r++)
		if (r != UNWIND_SP && register_of_caller(row, f, cfa, r, &value))
			set_register(&caller.c, r, value);
	if (row->how[UNWIND_SP] == HOW_SAME)
		value = cfa;
	else if (!register_of_caller(row, f, cfa, UNWIND_SP, &value))
		return STEP_BROKEN;
	set_register(&caller.c, UNWIND_SP, value);
	if (row->how[UNWIND_FP] == HOW_UNDEFINED)
		set_register(&caller.c, UNWIND_FP, 0);
	if (!(caller.c.known & BIT(UNWIND_FP)) || !accept_sp(w, &f->s, value, row->is_signal))
		return STEP_BROKEN;
	caller.s.pc = unwind_strip(pc);
	caller.s.sp = value;
	caller.s.fp = caller.c.reg[UNWIND_FP];
	caller.s.is_exact = row->is_signal;
	if (!row->is_signal && UNWIND_LEAF)
		caller.c.known &= ~BIT(UNWIND_RA); /* the call has overwritten the return address */
	caller.c.bounds = w->bounds;
	caller.c.checker = w->checker;
	*f = caller;
	return f->s.pc ? STEP_DONE : STEP_OUTERMOST;
}

/* Step past a signal whose trampoline has no row: the kernel has saved all registers. */
static enum unwind_step
step_over_trampoline(struct unwind_walk *w, struct full *f)
{
	const uint64_t saved = f->s.sp + UNWIND_SIGNAL_REGS;
	const unsigned int nr = sizeof unwind_signal_word;
	const struct unwind_state old = f->s;
	uint64_t value;

	for (unsigned int r = 0; r < nr; r++) {
		if (!unwind_read(&f->c, saved + WORD * unwind_signal_word[r], &value))
			return STEP_BROKEN;
		if (r < UNWIND_NR_REGS)
			set_register(&f->c, r, value);
	}
	if (!accept_sp(w, &old, f->c.reg[UNWIND_SP], true))
		return STEP_BROKEN;
	f->c.bounds = w->bounds;
	f->c.checker = w->checker;
	f->s.pc = value;
	f->s.sp = f->c.reg[UNWIND_SP];
	f->s.fp = f->c.reg[UNWIND_FP];
	f->s.is_exact = true;
	return STEP_DONE;
}

/* ---- without a rule ---- */

/*
 * True if FP can be on the stack of SP, whose bounds are unknown: FP may point anywhere, as into
 * another stack.  A frame is smaller than the limit, and two stacks are separated by a guard page
 * or by unmapped memory.
 */
static bool
is_on_same(const struct unwind_walk *w, uintptr_t sp, uintptr_t fp)
{
	const uintptr_t page_bytes = 4096, most_bytes = 1 << 16;

	if (!w->checker)
		return true;
	if (fp - sp > most_bytes)
		return false;
	while (sp < fp && unwind_may_read(w->checker, sp))
		sp = (sp & -page_bytes) + page_bytes;
	return sp >= fp;
}

/*
 * Code without a table, such as that of just-in-time compilers, often keeps the frame pointer:
 *
 *	FP -> | FP of the caller | return address |
 */
static enum unwind_step
guess(const struct unwind_walk *w, struct unwind_state *s)
{
	const struct unwind_context c = { .bounds = w->bounds, .checker = w->checker };
	uint64_t fp, pc;

	if (s->fp % WORD || s->fp < s->sp || !is_on_same(w, s->sp, s->fp) ||
		!unwind_read(&c, s->fp, &fp) || !unwind_read(&c, s->fp + WORD, &pc))
		return STEP_BROKEN;
	pc = unwind_strip(pc);
	if (pc < 0x10000 || pc >> 56 || (!w->checker && step_is_in(&w->bounds, pc)))
		return STEP_BROKEN;
	*s = (struct unwind_state){ .pc = pc, .sp = s->fp + 2 * WORD, .fp = fp };
	return STEP_DONE;
}

static enum unwind_step
step_full(struct unwind_walk *w, struct full *f)
{
	struct unwind_object o;
	struct unwind_row row;
	enum unwind_step step;
	const uintptr_t pc = f->s.pc - !f->s.is_exact;
	const enum unwind_found found = unwind_find_object(pc, &o);

	if (found == FOUND && unwind_find_row(&o, pc, &row))
		return step_by_row(w, f, &row);
	if (found == FOUND && unwind_is_trampoline(&o, f->s.pc))
		return step_over_trampoline(w, f);
	step = found == FOUND_UNKNOWN ? STEP_BROKEN : guess(w, &f->s);
	if (step == STEP_DONE)
		full_of_state(f, w, &f->s);
	return step;
}

/*
 * Get all registers of the frame S: step to it from the beginning of the walk.  At a call, few
 * rules need registers other than SP and FP: those of _dl_runtime_resolve() in ld.so, and of some
 * assembly.
 */
static bool
find_registers(const struct unwind_walk *w, const struct unwind_state *s, struct full *f)
{
	struct unwind_walk again = *w;

	if (!unwind_find_bounds(w->thread, w->regs->sp, &again.bounds))
		return false;
	again.checker = unwind_checker_of(w->thread, &again.bounds);
	again.bounds = unwind_bounds_from(&again.bounds, w->regs->sp);
	full_of_state(
		f, &again, &(struct unwind_state){ w->regs->pc, w->regs->sp, w->regs->fp, true });
	for (size_t i = 0; i < sizeof unwind_kept_reg; i++)
		set_register(&f->c, unwind_kept_reg[i], w->regs->kept[i]);
	for (int n = 0; f->s.sp != s->sp || f->s.pc != s->pc; n++) {
		const bool is_past = !w->has_moved && f->s.sp > s->sp;

		if (is_past || n == MAX_STEPS || step_full(&again, f) != STEP_DONE)
			return false;
	}
	return true;
}

/* ---- one step ---- */

static enum unwind_step
step_oddly(struct unwind_walk *w, struct unwind_state *s)
{
	struct full f;
	enum unwind_step step;

	full_of_state(&f, w, s);
	step = step_full(w, &f);
	if (step == STEP_BROKEN && find_registers(w, s, &f))
		step = step_full(w, &f);
	*s = f.s;
	return step;
}

static enum unwind_step
step_realigned(const struct unwind_walk *w, struct unwind_state *s, unwind_rule rule)
{
	const struct unwind_context c = { .bounds = w->bounds, .checker = w->checker };
	uint64_t cfa, fp, pc;

	if (!unwind_read(&c, s->fp + unwind_rule_cfa_at(rule), &cfa) || cfa % WORD ||
		cfa <= s->sp || cfa > w->bounds.end || !unwind_read(&c, s->fp, &fp) ||
		!unwind_read(&c, cfa - unwind_how_ra_at(unwind_rule_how(rule)), &pc))
		return STEP_BROKEN;
	*s = (struct unwind_state){ .pc = unwind_strip(pc), .sp = cfa, .fp = fp };
	return s->pc ? STEP_DONE : STEP_OUTERMOST;
}

enum unwind_step
unwind_step_slowly(struct unwind_walk *w, struct unwind_state *s, unwind_rule rule, uint32_t *ret)
{
	*ret = UNWIND_ODD;
	switch (unwind_rule_kind(rule)) {
	case RULE_OUTERMOST:
		return STEP_OUTERMOST;
	case RULE_REALIGNED:
		return step_realigned(w, s, rule);
	case RULE_NONE:
		*ret = unwind_rule_how(unwind_rule_make(RULE_PLAIN, true, 0, 2, 1));
		return guess(w, s);
	case RULE_UNKNOWN:
		return STEP_BROKEN;
	default:
		return step_oddly(w, s);
	}
}
