#include <config.h>

#include "unwind/walk.h"

#include "unwind/cache.h"
#include "unwind/objects.h"
#include "unwind/step.h"
#include "unwind/unwind-priv.h"

#define WORD sizeof(uint64_t)

static inline UNWIND_UNCHECKED uint64_t
walk_word_at(uintptr_t at)
{
	return *(const volatile uint64_t *)at;
}

static struct unwind_state
walk_state_of(const struct unwind_frame *f)
{
	return (struct unwind_state){ f->pc, f->sp, f->fp, f->how & UNWIND_EXACT };
}

/* True if F has the state S, apart from FP. */
static bool
is_nearly_frame(const struct unwind_frame *f, const struct unwind_state *s)
{
	return f->sp == s->sp && f->pc == s->pc && !(f->how & UNWIND_EXACT) == !s->is_exact;
}

static bool
is_frame(const struct unwind_frame *f, const struct unwind_state *s)
{
	return is_nearly_frame(f, s) && f->fp == s->fp;
}

/* ---- reused frames ---- */

/*
 * True if F is still the caller of CALLEE, for an F that was not found by two words of the stack.
 */
static __attribute__((noinline, cold)) bool
is_caller_oddly(const struct unwind_walk *w, const struct unwind_frame *f,
	const struct unwind_frame *callee)
{
	struct unwind_walk try = *w;
	struct unwind_state s = walk_state_of(callee);
	uint32_t how;

	return unwind_step_slowly(&try, &s, unwind_rule_for(s.pc, s.is_exact, w->generation),
		       &how) == STEP_DONE &&
		is_frame(f, &s) && !try.has_moved;
}

/* Nonzero if the words at which F was found now hold another PC or FP.  Has no branch. */
static inline __attribute__((always_inline)) uint64_t
changes_of(const struct unwind_frame *f)
{
	const uint64_t pc = unwind_strip(walk_word_at(f->sp - unwind_how_ra_at(f->how)));
	const uint64_t fp = walk_word_at(f->sp - unwind_how_fp_at(f->how));

	return (pc ^ f->pc) | ((fp ^ f->fp) & unwind_how_fp_mask(f->how));
}

/*
 * Set the FP of FRAME[AT].  Most code changes this register each time.  If no CFA is computed from
 * it before it is restored from the stack, the frames further out are unchanged.  False if they may
 * have changed; nothing is set then.
 */
static bool
take_fp(struct unwind_frame *frame, uint32_t at, uintptr_t fp)
{
	uint32_t last = at;

	while (last && !(frame[last - 1].how & (UNWIND_ODD | UNWIND_FROM_FP)) &&
		!unwind_how_fp_mask(frame[last - 1].how))
		last--;
	if (!last || frame[last - 1].how & (UNWIND_ODD | UNWIND_FROM_FP))
		return false;
	for (uint32_t i = last; i <= at; i++)
		frame[i].fp = fp;
	return true;
}

/*
 * Try to update FRAME[AT], which has changed, in its FP only.  False if another frame depends on
 * the FP or more has changed.
 */
static __attribute__((noinline)) bool
has_new_fp(struct unwind_frame *frame, uint32_t at)
{
	const struct unwind_frame *f = &frame[at];

	return unwind_strip(walk_word_at(f->sp - unwind_how_ra_at(f->how))) == f->pc &&
		take_fp(frame, at, walk_word_at(f->sp - unwind_how_fp_at(f->how)));
}

/* True if the words that changes_of() reads of a frame with this CFA can be read. */
static inline __attribute__((always_inline)) bool
may_read_words(const struct unwind_thread *checker, uintptr_t cfa, uint32_t how)
{
	return UNWIND_LIKELY(!checker) ||
		(unwind_may_read(checker, cfa - unwind_how_ra_at(how)) &&
			unwind_may_read(checker, cfa - unwind_how_fp_at(how)));
}

/*
 * Return 0 if all outermost frames still follow from FRAME[NR - 1], else the number of outermost
 * frames before the first one that does.  A frame is computed from its callee's registers and two
 * words of the stack.  The callee's registers are unchanged, and this function compares the words,
 * so the reused frames are those that a walk would find.  All words are within the stack's bounds,
 * whatever has changed; if the bounds have a checker, it is asked before each word.
 */
static uint32_t
check_kept(const struct unwind_walk *w, struct unwind_frame *frame, uint32_t nr)
{
	uint32_t i = nr - 1;

	while (i > 0) {
		/* Compare four frames at a time, since the processor can load them in parallel. */
		while (i >= 4 && !w->checker) {
			const struct unwind_frame *f = &frame[i - 4];

			if (((f[0].how | f[1].how | f[2].how | f[3].how) & UNWIND_ODD) ||
				(changes_of(&f[0]) | changes_of(&f[1]) | changes_of(&f[2]) |
					changes_of(&f[3])))
				break;
			i -= 4;
		}
		for (uint32_t n = i < 4 ? i : 4; n > 0; n--, i--) {
			const struct unwind_frame *f = &frame[i - 1];

			if (UNWIND_UNLIKELY(f->how & UNWIND_ODD)
					? !is_caller_oddly(w, f, f + 1)
					: !may_read_words(w->checker, f->sp, f->how) ||
						(changes_of(f) && !has_new_fp(frame, i - 1)))
				return i;
		}
	}
	return 0;
}

/* ---- frames ---- */

/* Frames in the order in which they are found. */
struct walk_fresh {
	struct unwind_frame *v;
	uint32_t nr, room;
	uint32_t nr_proven; /* frames before an unproven guess */
	bool is_guessing;
};

static inline __attribute__((always_inline)) void
set_frame(struct unwind_frame *f, uintptr_t pc, uintptr_t sp, uintptr_t fp, uint32_t how)
{
	f->pc = pc;
	f->sp = sp;
	f->fp = fp;
	f->node = 0;
	f->how = how;
}

/*
 * The caller of code without a rule is guessed.  The guess is proven when a later frame has a rule
 * again.
 */
static void
note_guess(struct walk_fresh *to, bool is_of_table)
{
	if (is_of_table) {
		to->is_guessing = false;
	} else if (!to->is_guessing) {
		to->is_guessing = true;
		to->nr_proven = to->nr;
	}
}

/* HOW, with the flags of F that describe the frame itself. */
static uint32_t
found_by(uint32_t how, const struct unwind_frame *f)
{
	const uint32_t own = UNWIND_EXACT | UNWIND_OF_TABLE;

	return (how & ~own) | (f->how & own);
}

/*
 * Add the frames of a kept stack, from the inside to the first changed one.  False if no room is
 * left.
 */
static bool
add_kept(struct walk_fresh *to, const struct unwind_frame *from, uint32_t first, uint32_t end)
{
	for (uint32_t i = end; i > first; i--) {
		if (to->nr == to->room)
			return false;
		to->v[to->nr++] = from[i - 1];
		note_guess(to, from[i - 1].how & UNWIND_OF_TABLE);
	}
	return true;
}

/* Step from S by RULE, which is not RULE_PLAIN. */
static __attribute__((noinline)) enum unwind_step
add_slowly(struct unwind_walk *w, struct unwind_state *s, unwind_rule rule, uint32_t *how,
	struct walk_fresh *to)
{
	const enum unwind_kind kind = unwind_rule_kind(rule);
	const bool is_of_table = kind != RULE_NONE && kind != RULE_UNKNOWN;

	set_frame(&to->v[to->nr++], s->pc, s->sp, s->fp,
		*how | (s->is_exact ? UNWIND_EXACT : 0) | (is_of_table ? UNWIND_OF_TABLE : 0));
	note_guess(to, is_of_table);
	return unwind_step_slowly(w, s, rule, how);
}

enum meeting {
	GO_ON, /* not met, or continue from the last unchanged frame */
	MET,   /* all kept frames outside of *NR can be reused */
	NO_ROOM,
};

/* Check S, which was found by *HOW and has the SP of a kept frame. */
static __attribute__((noinline)) enum meeting
meet(const struct unwind_walk *w, struct unwind_state *s, uint32_t *how, struct walk_fresh *to,
	struct unwind_frame *kept, uint32_t *nr)
{
	uint32_t changed;

	if (!is_nearly_frame(&kept[*nr - 1], s) ||
		(to->is_guessing && !(kept[*nr - 1].how & UNWIND_OF_TABLE)))
		return GO_ON;
	if (kept[*nr - 1].fp != s->fp && !take_fp(kept, *nr - 1, s->fp))
		return GO_ON;
	/* Its callee may have changed. */
	kept[*nr - 1].how = found_by(*how, &kept[*nr - 1]);
	changed = check_kept(w, kept, *nr);
	if (!changed)
		return MET;
	if (!add_kept(to, kept, changed + 1, *nr))
		return NO_ROOM;
	*nr = changed;
	*s = walk_state_of(&kept[changed]);
	*how = kept[changed].how & ~(UNWIND_EXACT | UNWIND_OF_TABLE);
	return GO_ON;
}

/*
 * Add frames from S on, found by *HOW, which are equal to those of KEPT but have another SP.  KEPT
 * has NR frames.  The words at the same distances from SP were found by rules that use only SP, and
 * the rules depend only on the code, which is the same.  So all words can be compared at once.
 * Afterwards S is the first frame that differs, or the first one whose SP is the same in KEPT.
 */
static void
walk_follow(struct unwind_walk *w, struct unwind_state *s, uint32_t *how, struct walk_fresh *to,
	const struct unwind_frame *kept, uint32_t nr)
{
	const uint32_t last = UNWIND_ODD | UNWIND_EXACT | UNWIND_FROM_FP;
	const uintptr_t ahead = s->sp - kept[nr - 1].sp;
	uint32_t met = nr;

	if (w->checker)
		return;

	for (uint32_t i = nr - 1; i > 0 && to->nr < to->room; i--) {
		const struct unwind_frame *f = &kept[i - 1];
		const uintptr_t sp = f->sp + ahead;

		while (met && kept[met - 1].sp < s->sp)
			met--;
		if (s->pc != kept[i].pc || !(kept[i].how & UNWIND_OF_TABLE) || (f->how & last) ||
			(met && kept[met - 1].sp == s->sp) || sp > w->bounds.end || sp <= s->sp ||
			sp - w->bounds.start < unwind_how_fp_at(f->how) ||
			sp - w->bounds.start < unwind_how_ra_at(f->how))
			return;
		set_frame(&to->v[to->nr++], s->pc, s->sp, s->fp,
			*how | (s->is_exact ? UNWIND_EXACT : 0) | UNWIND_OF_TABLE);
		*how = f->how & ~(UNWIND_EXACT | UNWIND_OF_TABLE);
		if (unwind_how_fp_mask(*how))
			s->fp = walk_word_at(sp - unwind_how_fp_at(*how));
		s->pc = unwind_strip(walk_word_at(sp - unwind_how_ra_at(*how)));
		s->sp = sp;
		s->is_exact = false;
	}
}

static enum unwind_end
walk_end_of(enum unwind_step step)
{
	return step == STEP_OUTERMOST ? UNWIND_COMPLETE : UNWIND_BROKEN;
}

/*
 * Walk from the frame with these registers, and add frames to TO until one is in KEPT and still
 * leads to all frames further out there. *NR_KEPT of these are reused.
 *
 * The registers of a frame are in separate variables, and rare cases are in separate functions,
 * because most of the time is spent here.
 */
static enum unwind_end
walk_collect(struct unwind_walk *w, uintptr_t pc, uintptr_t sp, uintptr_t fp, uint32_t how,
	struct walk_fresh *to, struct unwind_frame *kept, uint32_t *nr_kept)
{
	struct unwind_state s;
	uint32_t nr = *nr_kept;

	*nr_kept = 0;
	if (nr && kept[nr - 1].pc == pc && !((kept[nr - 1].how ^ how) & UNWIND_EXACT)) {
		s = (struct unwind_state){ pc, sp, fp, how & UNWIND_EXACT };
		how = 0;
		walk_follow(w, &s, &how, to, kept, nr);
		pc = s.pc, sp = s.sp, fp = s.fp;
		how |= s.is_exact ? UNWIND_EXACT : 0;
		if (UNWIND_UNLIKELY(!pc))
			return UNWIND_COMPLETE;
	}
	for (;;) {
		unwind_rule rule;
		uintptr_t cfa;

		while (nr && kept[nr - 1].sp < sp)
			nr--;
		if (nr && kept[nr - 1].sp == sp) {
			enum meeting met;

			s = (struct unwind_state){ pc, sp, fp, how & UNWIND_EXACT };
			met = meet(w, &s, &how, to, kept, &nr);
			if (met == MET)
				*nr_kept = nr;
			if (met != GO_ON)
				return met == MET ? UNWIND_COMPLETE : UNWIND_CUT;
			pc = s.pc, sp = s.sp, fp = s.fp;
			how = (how & ~UNWIND_EXACT) | (s.is_exact ? UNWIND_EXACT : 0);
		}
		if (to->nr == to->room)
			return UNWIND_CUT;
		rule = unwind_rule_quickly(pc, how & UNWIND_EXACT);
		if (UNWIND_UNLIKELY(!rule))
			rule = unwind_rule_for(pc, how & UNWIND_EXACT, w->generation);
		if (UNWIND_UNLIKELY(unwind_rule_kind(rule) != RULE_PLAIN)) {
			enum unwind_step step;

			s = (struct unwind_state){ pc, sp, fp, how & UNWIND_EXACT };
			how &= ~UNWIND_EXACT;
			step = add_slowly(w, &s, rule, &how, to);
			if (step != STEP_DONE)
				return walk_end_of(step);
			pc = s.pc, sp = s.sp, fp = s.fp;
			how |= s.is_exact ? UNWIND_EXACT : 0;
			continue;
		}
		if (UNWIND_UNLIKELY(to->is_guessing)) {
			if (!UNWIND_GUESS_FINDS_SP && !unwind_rule_is_from_fp(rule))
				return UNWIND_BROKEN;
			to->is_guessing = false;
		}
		set_frame(&to->v[to->nr++], pc, sp, fp, how | UNWIND_OF_TABLE);
		how = unwind_rule_how(rule);
		cfa = (unwind_rule_is_from_fp(rule) ? fp : sp) + unwind_rule_cfa_at(rule);
		if (UNWIND_UNLIKELY(cfa <= sp || cfa > w->bounds.end || cfa % WORD ||
			    cfa - w->bounds.start < unwind_how_fp_at(how) ||
			    cfa - w->bounds.start < unwind_how_ra_at(how) ||
			    !may_read_words(w->checker, cfa, how)))
			return UNWIND_BROKEN;
		if (unwind_how_fp_mask(how))
			fp = walk_word_at(cfa - unwind_how_fp_at(how));
		pc = unwind_strip(walk_word_at(cfa - unwind_how_ra_at(how)));
		sp = cfa;
		if (UNWIND_UNLIKELY(!pc))
			return UNWIND_COMPLETE;
	}
}

/* ---- a stack ---- */

static void
move_frames(struct unwind_frame *to, const struct unwind_frame *from, uint32_t nr)
{
	if (to < from)
		for (uint32_t i = 0; i < nr; i++)
			to[i] = from[i];
	else
		for (uint32_t i = nr; i > 0; i--)
			to[i - 1] = from[i - 1];
}

/* Copy the collected frames in the order of a stack. */
static void
put_fresh(struct unwind_frame *to, const struct walk_fresh *fresh)
{
	for (uint32_t i = 0; i < fresh->nr; i++)
		to[fresh->nr - 1 - i] = fresh->v[i];
}

static enum unwind_end
walk_drop_guesses(struct walk_fresh *fresh, enum unwind_end end)
{
	if (end == UNWIND_BROKEN && fresh->is_guessing)
		fresh->nr = fresh->nr_proven;
	return end;
}

/*
 * Continue the walk from the outermost frame of an incomplete kept stack, as more frames may fit
 * now.  False if that frame was a guess that may have to be discarded.
 */
static bool
extend(struct unwind_walk *w, struct unwind_stack *s)
{
	/* The outermost frame is added again, as the first one. */
	struct walk_fresh fresh = { .v = &s->frame[s->max], .room = s->max - s->nr + 1 };
	const enum unwind_end was = s->end;
	const struct unwind_frame *f = &s->frame[0];
	const bool is_guess = s->nr > 1 && !(s->frame[1].how & UNWIND_OF_TABLE);
	enum unwind_end end;

	end = walk_drop_guesses(&fresh,
		walk_collect(w, f->pc, f->sp, f->fp, f->how & UNWIND_EXACT, &fresh, NULL,
			&(uint32_t){ 0 }));
	if (is_guess && end == UNWIND_BROKEN)
		return false;
	if (fresh.is_guessing && end == UNWIND_CUT)
		s->is_kept = false;
	fresh.v++;
	fresh.nr--;
	if (fresh.nr) {
		move_frames(&s->frame[fresh.nr], s->frame, s->nr);
		put_fresh(s->frame, &fresh);
		s->nr += fresh.nr;
	}
	if (fresh.nr || end != was)
		s->nr_same = 0;
	s->end = (uint8_t)end;
	return true;
}

/*
 * Walk, and reuse unchanged frames of the outermost NR_KEPT ones.  False if the walk must be done
 * without them.
 */
static bool
unwind_walk_from(struct unwind_walk *w, struct unwind_stack *s, uint32_t nr_kept)
{
	struct walk_fresh fresh = { .v = &s->frame[s->max], .room = s->max };
	const struct unwind_state *from = &w->regs->from;
	enum unwind_end end;
	uint32_t dropped;

	end = walk_drop_guesses(&fresh,
		walk_collect(w, from->pc, from->sp, from->fp, from->is_exact ? UNWIND_EXACT : 0,
			&fresh, s->frame, &nr_kept));
	s->is_kept = !(fresh.is_guessing && end == UNWIND_CUT);
	s->nr_same = nr_kept;
	if (nr_kept)
		end = s->end;
	dropped = nr_kept + fresh.nr > s->max ? nr_kept + fresh.nr - s->max : 0;
	if (dropped) {
		nr_kept -= dropped;
		move_frames(s->frame, s->frame + dropped, nr_kept);
		s->nr_same = 0;
		end = UNWIND_CUT;
	}
	put_fresh(&s->frame[nr_kept], &fresh);
	s->nr = nr_kept + fresh.nr;
	s->end = (uint8_t)end;
	return dropped || !nr_kept || end == UNWIND_COMPLETE || extend(w, s);
}

void
unwind_stack_init(struct unwind_stack *s, uint32_t max)
{
	s->max = max;
	s->nr = s->nr_same = 0;
	s->end = UNWIND_BROKEN;
	s->is_kept = false;
}

void
unwind_stack_forget(struct unwind_stack *s)
{
	s->is_kept = false;
}

static bool
walk_is_same(const struct unwind_bounds *a, const struct unwind_bounds *b)
{
	return a->start == b->start && a->end == b->end;
}

/* True if the whole stack is unchanged, which is the usual case in a loop. */
static bool
is_as_it_was(const struct unwind_walk *w, struct unwind_stack *s)
{
	const struct unwind_frame *f = &s->frame[s->nr - 1];
	const struct unwind_state *from = &w->regs->from;

	return is_nearly_frame(f, from) && s->end == UNWIND_COMPLETE &&
		(f->fp == from->fp || take_fp(s->frame, s->nr - 1, from->fp)) &&
		check_kept(w, s->frame, s->nr) == 0;
}

/* True if S may be compared with the stack of W, whose bounds are STACK. */
static bool
may_take_over(const struct unwind_walk *w, const struct unwind_stack *s,
	const struct unwind_bounds *stack)
{
	return s->is_kept && w->generation && w->generation == s->generation &&
		walk_is_same(stack, &s->bounds);
}

bool
unwind_is_same(
	struct unwind_stack *s, const struct unwind_regs *regs, const struct unwind_thread *t)
{
	struct unwind_walk w = { .regs = regs, .thread = t };
	struct unwind_bounds stack;

	if (!s->is_kept || s->frame[s->nr - 1].sp != regs->from.sp)
		return false;
	w.generation = unwind_generation();
	if (!unwind_find_bounds(t, regs->from.sp, &stack) || !may_take_over(&w, s, &stack))
		return false;
	w.bounds = unwind_bounds_from(&stack, regs->from.sp);
	w.checker = unwind_checker_of(t, &stack);
	return is_as_it_was(&w, s);
}

/* ---- the words of a stack ---- */

/* Add the word at AT.  False if no room is left. */
static bool
note_word(struct unwind_words *to, uintptr_t at, uint64_t value)
{
	if (to->nr == UNWIND_MAX_WORDS || at - to->from.sp > UINT32_MAX)
		return false;
	to->at[to->nr] = (uint32_t)(at - to->from.sp);
	to->value[to->nr++] = value;
	return true;
}

/*
 * The frames of S on whose FP a frame further out depends, the condition of take_fp(): bit I % 64
 * of word I / 64 for frame I.
 */
static void
find_needs_fp(const struct unwind_stack *s, uint64_t ret[UNWIND_MAX_WORDS / 64 + 1])
{
	bool is_needed = true;

	for (uint32_t i = 0; i <= UNWIND_MAX_WORDS / 64; i++)
		ret[i] = 0;
	for (uint32_t i = 0; i < s->nr; i++) {
		ret[i / 64] |= (uint64_t)is_needed << i % 64;
		if (s->frame[i].how & UNWIND_FROM_FP)
			is_needed = true;
		else if (unwind_how_fp_mask(s->frame[i].how))
			is_needed = false;
	}
}

/* Add the words by which F was found. */
static bool
note_frame(struct unwind_words *to, const struct unwind_frame *f, bool needs_fp)
{
	const uintptr_t ra_at = f->sp - unwind_how_ra_at(f->how);

	if ((f->how & UNWIND_ODD) || unwind_strip(walk_word_at(ra_at)) != f->pc ||
		!note_word(to, ra_at, walk_word_at(ra_at)))
		return false;
	return !unwind_how_fp_mask(f->how) || !needs_fp ||
		note_word(to, f->sp - unwind_how_fp_at(f->how), f->fp);
}

bool
unwind_note_words(const struct unwind_stack *s, struct unwind_words *ret)
{
	const struct unwind_frame *first = &s->frame[s->nr - 1];
	struct unwind_words *w = ret;
	uint64_t needs_fp[UNWIND_MAX_WORDS / 64 + 1];

	w->nr = 0;
	/* There is a word for each frame but the first. */
	if (!s->is_kept || !s->generation || s->end != UNWIND_COMPLETE || s->nr < 2 ||
		s->nr > UNWIND_MAX_WORDS + 1)
		return false;
	find_needs_fp(s, needs_fp);
	w->from = walk_state_of(first);
	w->needs_fp = needs_fp[(s->nr - 1) / 64] >> (s->nr - 1) % 64 & 1;
	w->bounds = s->bounds;
	w->generation = 0;
	for (uint32_t i = s->nr - 1; i-- > 0;)
		if (!note_frame(w, &s->frame[i], needs_fp[i / 64] >> i % 64 & 1)) {
			w->nr = 0;
			return false;
		}
	while (w->nr % UNWIND_WORDS_STEP)
		note_word(w, w->from.sp + w->at[w->nr - 1], w->value[w->nr - 1]);
	/* If a signal handler leaves by longjmp(), the generation must be invalid. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	w->generation = s->generation;
	return true;
}

static __attribute__((noinline)) bool
may_read_all(const struct unwind_thread *checker, const struct unwind_words *words)
{
	for (uint32_t i = 0; i < words->nr; i++)
		if (!unwind_may_read(checker, words->from.sp + words->at[i]))
			return false;
	return true;
}

bool
unwind_has_words(const struct unwind_words *words, const struct unwind_regs *regs,
	const struct unwind_thread *t)
{
	const uint32_t *at = words->at;
	const uint64_t *value = words->value;
	const struct unwind_state *from = &regs->from;
	const uintptr_t sp = from->sp;
	struct unwind_bounds stack;

	if (words->from.sp != sp || words->from.pc != from->pc ||
		words->from.is_exact != from->is_exact || !words->nr || !words->generation ||
		words->generation != unwind_generation() ||
		(words->from.fp != from->fp && words->needs_fp))
		return false;
	if (UNWIND_UNLIKELY(!walk_is_same(&t->own, &words->bounds)) &&
		(!unwind_find_bounds(t, sp, &stack) || !walk_is_same(&stack, &words->bounds) ||
			!may_read_all(unwind_checker_of(t, &stack), words)))
		return false;
	for (uint32_t i = 0; i < words->nr; i += UNWIND_WORDS_STEP)
		if ((walk_word_at(sp + at[i]) ^ value[i]) |
			(walk_word_at(sp + at[i + 1]) ^ value[i + 1]) |
			(walk_word_at(sp + at[i + 2]) ^ value[i + 2]) |
			(walk_word_at(sp + at[i + 3]) ^ value[i + 3]))
			return false;
	return true;
}

void
unwind_stack_copy(struct unwind_stack *to, const struct unwind_stack *from)
{
	to->is_kept = false;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	to->nr = to->nr_same = from->nr;
	to->end = from->end;
	to->bounds = from->bounds;
	to->generation = from->generation;
	__builtin_memcpy(to->frame, from->frame, from->nr * sizeof *to->frame);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	to->is_kept = from->is_kept;
}

void
unwind_walk(struct unwind_stack *s, const struct unwind_regs *regs, const struct unwind_thread *t)
{
	struct unwind_walk w = { .regs = regs, .thread = t, .generation = unwind_generation() };
	struct unwind_bounds stack;
	uint32_t nr_kept;

	if (!unwind_cache || !unwind_find_bounds(t, regs->from.sp, &stack)) {
		s->nr = s->nr_same = 0;
		s->end = UNWIND_BROKEN;
		s->is_kept = false;
		return;
	}
	w.bounds = unwind_bounds_from(&stack, regs->from.sp);
	w.checker = unwind_checker_of(t, &stack);
	nr_kept = may_take_over(&w, s, &stack) ? s->nr : 0;
	/* If a signal handler leaves by longjmp(), the stack must not look complete. */
	s->is_kept = false;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (nr_kept && is_as_it_was(&w, s)) {
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		s->nr_same = s->nr;
		s->is_kept = true;
		return;
	}
	if (!unwind_walk_from(&w, s, nr_kept))
		unwind_walk_from(&w, s, 0);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	s->bounds = stack;
	s->generation = w.generation;
	if (w.has_moved)
		s->is_kept = false;
}
