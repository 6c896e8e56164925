/*
 * unwind-check: a walk by src/unwind compared with one that takes nothing over, and with the one
 * of the C++ runtime.
 */
#ifndef MEMDIAG_TESTS_UNWIND_CHECK_H
#define MEMDIAG_TESTS_UNWIND_CHECK_H

#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#include "unwind/cache.h"
#include "unwind/unwind.h"
#include "unwind/walk.h"
#include "unwind/way.h"

#pragma weak _dl_find_object
extern int _dl_find_object(void *pc, struct dl_find_object *ret);

static void *
check_map(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static struct unwind_host
check_host(void)
{
	return (struct unwind_host){
		.iterate = dl_iterate_phdr,
		.find_object = _dl_find_object,
		.map = check_map,
		.page_bytes = (size_t)sysconf(_SC_PAGESIZE),
		.can_unload = true,
	};
}

#define CHECKER_COPIES 8
#define CHECKER_WAYS 8

/* The state of the walks of one thread, or of one level of signal handlers in it. */
struct checker {
	struct unwind_stack *kept, *whole, *part;
	struct unwind_stack *copy[CHECKER_COPIES]; /* earlier ones */
	struct unwind_words words[CHECKER_COPIES]; /* of those that have them */
	uint64_t nr_again;			   /* how often one of those was the stack */
	uint64_t nr_by_words;			   /* and was so by its words */
	struct unwind_way way[CHECKER_WAYS];	   /* through functions of this program */
	uint64_t nr_ways_learned, nr_ways_gone;
	struct unwind_thread thread;
	uint64_t nr_walks, nr_frames, nr_taken_over, nr_compared, nr_wrong;
	uint64_t nr_complete, nr_cut, nr_broken;
	/* Change words of the stack for a moment, every so many walks; 0: none; how many were. */
	uint64_t disturb_every, nr_disturbed, nr_decisive;
};

static inline bool
checker_init(struct checker *c, uint32_t max)
{
	memset(c, 0, sizeof *c);
	c->kept = check_map(unwind_stack_bytes(max));
	c->whole = check_map(unwind_stack_bytes(max));
	c->part = check_map(unwind_stack_bytes(max));
	if (!c->kept || !c->whole || !c->part)
		return false;
	unwind_stack_init(c->kept, max);
	unwind_stack_init(c->whole, max);
	unwind_stack_init(c->part, max);
	for (int i = 0; i < CHECKER_COPIES; i++) {
		c->copy[i] = check_map(unwind_copy_bytes(max));
		if (!c->copy[i])
			return false;
	}
	return true;
}

/* Print the first of each checker in full. */
static void
checker_complain(struct checker *c, const char *what, const struct unwind_stack *got,
	const uintptr_t *want, uint32_t nr_want)
{
	char line[128];

	if (c->nr_wrong++)
		return;
	dprintf(1, "# %s: %u frames, end %d, %u taken over\n", what, got->nr, got->end,
		got->nr_same);
	for (uint32_t i = 0; i < got->nr || i < nr_want; i++) {
		const struct unwind_frame none = { 0 },
					  *f = i < got->nr ? &got->frame[got->nr - 1 - i] : &none;
		const int n = snprintf(line, sizeof line,
			"#  %#lx sp %#lx fp %#lx how %#x node %#x   want %#lx\n", (long)f->pc,
			(long)f->sp, (long)f->fp, f->how, f->node,
			i < nr_want ? (long)want[i] : 0L);

		if (write(1, line, (size_t)n) < 0)
			break;
	}
}

/* As the nodes of a tree would be: each is of its frame and all outer ones. */
static inline void
checker_set_nodes(struct unwind_stack *s)
{
	for (uint32_t i = s->nr_same; i < s->nr; i++)
		s->frame[i].node =
			(uint32_t)(((i ? s->frame[i - 1].node : s->end + 1u) ^ s->frame[i].pc) *
					UINT64_C(0x9e3779b97f4a7c15) >>
				32);
}

#define CHECKER_MAX 512

struct backtrace {
	uint32_t nr;
	uintptr_t pc[CHECKER_MAX];
	bool is_stopped; /* full */
};

static _Unwind_Reason_Code
checker_note(struct _Unwind_Context *c, void *arg)
{
	struct backtrace *b = arg;

	if (b->nr == CHECKER_MAX) {
		b->is_stopped = true;
		return _URC_END_OF_STACK;
	}
	b->pc[b->nr++] = _Unwind_GetIP(c);
	return _URC_NO_REASON;
}

/*
 * The C++ runtime's first frame is this function, and its second the caller: both at other places
 * than in S.
 */
static __attribute__((noinline)) void
checker_compare(struct checker *c, const struct unwind_stack *s)
{
	struct backtrace b = { 0 };

	_Unwind_Backtrace(checker_note, &b);
	while (b.nr && !b.pc[b.nr - 1])
		b.nr--;
	c->nr_compared++;
	if (s->nr + 1 > b.nr) {
		/* It stops at code without a table, where we try the frame pointer. */
		const struct unwind_frame *last = &s->frame[b.nr >= 2 ? s->nr + 1 - b.nr : 0];

		if (!b.is_stopped && (last->how & UNWIND_OF_TABLE)) {
			checker_complain(c, "longer than _Unwind_Backtrace()'s", s, b.pc, b.nr);
			return;
		}
	} else if (s->nr + 1 < b.nr && s->end == UNWIND_COMPLETE) {
		checker_complain(c, "shorter than _Unwind_Backtrace()'s", s, b.pc, b.nr);
		return;
	}
	for (uint32_t i = 1; i < s->nr && i + 1 < b.nr; i++) {
		if (s->frame[s->nr - 1 - i].pc == b.pc[i + 1])
			continue;
		checker_complain(c, "not _Unwind_Backtrace()'s", s, b.pc, b.nr);
		return;
	}
}

static void
checker_compare_whole(struct checker *c, const struct unwind_stack *k, const char *what)
{
	const struct unwind_stack *w = c->whole;
	uintptr_t pc[CHECKER_MAX];
	bool is_same = k->nr == w->nr && k->end == w->end;

	for (uint32_t i = 0; is_same && i < w->nr; i++)
		is_same = memcmp(&k->frame[i], &w->frame[i], sizeof *k->frame) == 0;
	for (uint32_t i = 0; i < w->nr && i < CHECKER_MAX; i++)
		pc[i] = w->frame[w->nr - 1 - i].pc;
	if (!is_same)
		checker_complain(c, what, k, pc, w->nr);
}

static bool
checker_has_frames(const struct unwind_stack *a, const struct unwind_stack *b)
{
	bool is_same = a->nr == b->nr && a->end == b->end;

	for (uint32_t i = 0; is_same && i < a->nr; i++)
		is_same = a->frame[i].pc == b->frame[i].pc && a->frame[i].sp == b->frame[i].sp;
	return is_same;
}

/*
 * Change each word of the stack outside of the first two frames in turn.  A walk that takes over
 * what is kept finds the same as one that does not; and where that leads to other frames, the stack
 * must not have the words WAS any more.  A sanitizer has some of its own between the program's.
 */
static __attribute__((noinline, no_sanitize("address", "undefined"))) void
checker_disturb(struct checker *c, const struct unwind_regs *regs, const struct unwind_words *was)
{
	const struct unwind_stack *k = c->kept;
	volatile uint64_t *at = (uint64_t *)k->frame[k->nr - 3].sp;
	volatile uint64_t *const end = (uint64_t *)k->frame[0].sp;

	if (!unwind_has_words(was, regs, &c->thread))
		checker_complain(c, "a stack has not its own words", k, NULL, 0);
	for (int i = 0; i < 1000 && at < end; i++, at++) {
		const uint64_t value = *at;
		bool has_words;

		if ((uintptr_t)at >= (uintptr_t)c && (uintptr_t)at < (uintptr_t)(c + 1))
			continue;
		*at = value + 16;
		unwind_stack_forget(c->whole);
		unwind_walk(c->whole, regs, &c->thread);
		has_words = unwind_has_words(was, regs, &c->thread);
		unwind_stack_copy(c->part, k);
		unwind_walk(c->part, regs, &c->thread);
		*at = value;
		c->nr_disturbed++;
		checker_set_nodes(c->part);
		checker_set_nodes(c->whole);
		checker_compare_whole(c, c->part, "a changed word is not noticed");
		if (checker_has_frames(c->whole, k))
			continue;
		c->nr_decisive++;
		if (has_words)
			checker_complain(c, "another stack has the words", c->whole, NULL, 0);
	}
}

/* Those of the earlier stacks that REGS has again, and keep that of now in place of one. */
static void
checker_compare_earlier(struct checker *c, const struct unwind_regs *regs)
{
	const uint64_t next = c->nr_walks / 3 % CHECKER_COPIES;

	for (int i = 0; i < CHECKER_COPIES; i++) {
		const bool has_words = unwind_has_words(&c->words[i], regs, &c->thread);

		c->nr_by_words += has_words;
		if (unwind_is_same(c->copy[i], regs, &c->thread)) {
			c->nr_again++;
			checker_compare_whole(c, c->copy[i], "no walk finds this earlier stack");
			if (c->words[i].nr && !has_words)
				checker_complain(c, "it has not its words", c->copy[i], NULL, 0);
		} else if (has_words) {
			checker_complain(c, "it has words of another", c->copy[i], NULL, 0);
		}
	}
	unwind_stack_copy(c->copy[next], c->kept);
	if (unwind_note_words(c->kept, &c->words[next]) && c->disturb_every && c->kept->nr > 4 &&
		c->nr_walks % c->disturb_every == 0)
		checker_disturb(c, regs, &c->words[next]);
}

/* Compare the walk from the end of WAY with that from the beginning, C->whole. */
static void
checker_compare_way(struct checker *c, const struct unwind_way *way, const struct unwind_regs *regs)
{
	const struct unwind_stack *w = c->whole;
	struct unwind_regs outside = *regs;
	bool is_same;

	/* On a stack that is unknown, no walk finds more than its first frame. */
	if (!unwind_way_go(way, &outside) || (w->end == UNWIND_BROKEN && w->nr <= way->nr))
		return;
	c->nr_ways_gone++;
	unwind_walk(c->part, &outside, &c->thread);
	is_same = w->nr > way->nr &&
		(w->end == UNWIND_CUT ||
			(c->part->nr + way->nr == w->nr && c->part->end == w->end));
	for (uint32_t i = 1; is_same && i <= w->nr - way->nr; i++) {
		const struct unwind_frame *f = &w->frame[w->nr - way->nr - i],
					  *g = &c->part->frame[c->part->nr - i];

		is_same = f->pc == g->pc && f->sp == g->sp && f->fp == g->fp;
	}
	if (!is_same)
		checker_complain(c, "a way leads to another stack", c->part, NULL, 0);
}

extern const char checker_start[] __asm__("__executable_start"), checker_end[] __asm__("etext");

/* Learn the way out of the innermost one, two or three frames if these are of this program. */
static void
checker_learn_way(struct checker *c, const struct unwind_regs *regs)
{
	const struct unwind_stack *w = c->whole;
	const uint32_t nr = 1 + (uint32_t)(c->nr_walks % 3);
	struct unwind_way *way = &c->way[c->nr_walks / 5 % CHECKER_WAYS];

	if (w->nr <= nr)
		return;
	for (uint32_t i = 0; i < nr; i++)
		if (w->frame[w->nr - 1 - i].pc - (uintptr_t)checker_start >=
			(uintptr_t)(checker_end - checker_start))
			return;
	unwind_way_learn(w, regs, w->nr - 1 - nr, way);
	c->nr_ways_learned += way->pc != 0;
}

/*
 * Walk from here and compare; with _Unwind_Backtrace() if WITH_ORACLE. Inlined: it is the caller
 * that is the first frame.
 */
static inline __attribute__((always_inline)) void
checker_walk(struct checker *c, bool with_oracle)
{
	struct unwind_regs regs;

	unwind_capture(&regs);
	unwind_walk(c->kept, &regs, &c->thread);
	c->nr_taken_over += c->kept->nr_same;
	checker_set_nodes(c->kept);
	unwind_stack_forget(c->whole);
	unwind_walk(c->whole, &regs, &c->thread);
	checker_set_nodes(c->whole);
	c->nr_walks++;
	c->nr_frames += c->kept->nr;
	c->nr_complete += c->kept->end == UNWIND_COMPLETE;
	c->nr_cut += c->kept->end == UNWIND_CUT;
	c->nr_broken += c->kept->end == UNWIND_BROKEN;
	checker_compare_whole(c, c->kept, "not as a walk that takes nothing over");
	checker_compare_earlier(c, &regs);
	for (int i = 0; i < CHECKER_WAYS; i++)
		checker_compare_way(c, &c->way[i], &regs);
	checker_learn_way(c, &regs);
	if (with_oracle)
		checker_compare(c, c->kept);
}

#endif
