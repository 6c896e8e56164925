#include <config.h>

#include "agent/note/stack.h"

#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "agent/base/compiler.h"
#include "agent/base/memory.h"
#include "agent/base/real.h"
#include "agent/base/say.h"
#include "agent/base/state.h"
#include "agent/base/sys.h"
#include "agent/base/thread.h"
#include "agent/note/seen.h"
#include "agent/note/sites.h"
#include "unwind/objects.h"
#include "unwind/seen.h"

/* ---- loaded objects ---- */

static void *
stack_map(size_t bytes)
{
	void *at = memory_map(-1, 0, bytes);

	if (at)
		memory_note(WIRE_MEMORY_TABLES, at, bytes);
	return at;
}

/* The bounds of this library, from the linker. */
extern const char agent_start[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));
extern const char agent_text_end[] __asm__("etext") __attribute__((visibility("hidden")));

/* The images of a program in which no function reports the loaded objects. */
static struct unwind_image images[3];
static size_t nr_images;
static const void *vdso_header;

void
stack_set_images(const struct unwind_image *program, const void *vdso)
{
	nr_images = 0;
	vdso_header = vdso;
	if (program->header)
		images[nr_images++] = *program;
	if (vdso)
		images[nr_images++] = (struct unwind_image){ .header = vdso };
	images[nr_images++] = (struct unwind_image){ .header = agent_start };
}

bool
stack_begin(void)
{
	const struct unwind_host host = {
		.iterate = dl_iterate_phdr,
		.find_object = real._dl_find_object,
		.map = stack_map,
		.image = images,
		.nr_images = nr_images,
		.page_bytes = agent_page_bytes,
		.can_unload = real.libc_malloc,
		.seen = seen_add,
	};
	char text[512];

	python_begin();
	seen_begin();
	bounds_begin(agent_is_static ? 0 : getauxval(AT_RANDOM), text, sizeof text);
	return unwind_start(&host);
}

const void *
stack_vdso(void)
{
	return agent_is_static ? vdso_header : (const void *)getauxval(AT_SYSINFO_EHDR);
}

/* ---- a stack ---- */

static bool
stack_is_ours(uintptr_t pc)
{
	return pc - (uintptr_t)agent_start < (uintptr_t)(agent_text_end - agent_start);
}

/* The other stacks of the thread, which a walk may find while one node is searched for. */
struct others {
	struct last_stacks *stack;
	struct bounds_pages readable;
};

/* Find the bounds of a stack to which the thread has switched: of a coroutine or for signals. */
static bool
stack_find_other(void *arg, uintptr_t sp, struct unwind_bounds *ret)
{
	struct last_stacks *s = ((struct others *)arg)->stack;
	struct bounds b;

	if (!bounds_of_other(sp, s->text, sizeof s->text, &b))
		return false;
	*ret = (struct unwind_bounds){ b.start, b.end };
	return true;
}

static bool
may_read_other(void *arg, uintptr_t at)
{
	return bounds_may_read(&((struct others *)arg)->readable, at);
}

static struct unwind_stack *
frames_of(const struct stack_recent *r)
{
	return (struct unwind_stack *)(uintptr_t)r->frames;
}

static void
forget_recent(struct stack_recent *r)
{
	r->words.nr = 0;
	unwind_stack_forget(frames_of(r));
}

static void
stack_forget_all(struct last_stacks *s)
{
	unwind_stack_forget(&s->frames);
	for (uint32_t i = 0; s->recent && i < STACK_NR_RECENT; i++)
		forget_recent(&s->recent[i]);
	s->last = STACK_NR_RECENT;
	s->credit = STACK_CREDIT;
	s->nr_unsought = 0;
	s->next_unsought = STACK_NR_UNSOUGHT;
}

static void
find_own(struct last_stacks *s, uintptr_t sp)
{
	if (s->thread == thread_stack() && sp >= s->own.start && sp < s->own.end)
		return;
	if (s->thread != thread_stack()) {
		s->own = (struct bounds){ 0 };
		stack_forget_all(s);
		bounds_learn(s->text, sizeof s->text);
	}
	s->thread = thread_stack();
	/* SP may be on another stack for a while; the thread's own bounds are kept. */
	bounds_of_thread(sp, &s->own);
}

static uint64_t nr_inits;

void
stack_init(struct last_stacks *s, struct stack_more *more)
{
	s->thread = 0;
	s->recent = more ? more->recent : NULL;
	s->result = more ? more->result : s->few;
	s->nr_results = more ? STACK_NR_RESULTS : STACK_FEW_RESULTS;
	s->seed = __atomic_add_fetch(&nr_inits, 1, __ATOMIC_RELAXED);
	s->nr_words = 0;
	_Static_assert(sizeof s->text >= PYTHON_CALLS_TEXT_BYTES, "a name fits");
	python_calls_init(&s->calls, s->text, more ? more->line : NULL, STACK_NR_LINES);
	unwind_stack_init(&s->frames, WIRE_MAX_FRAMES);
	stack_forget_all(s);
}

/* ---- the way out of the agent ---- */

/* Set REGS->from to the frame outside of the agent, if the hook was reached by a known way. */
static void
leave_agent(struct last_stacks *s, struct unwind_regs *regs)
{
	for (uint32_t i = 0; i < STACK_NR_WAYS; i++) {
		const uint32_t at = (s->last_way + i) % STACK_NR_WAYS;

		if (unwind_way_go(&s->way[at], regs) && !stack_is_ours(regs->from.pc)) {
			s->last_way = at;
			return;
		}
	}
	unwind_from_inside(regs);
}

/* The number of frames of W outside of the agent, if its inner frames are the agent's. */
static uint32_t
nr_outside(const struct unwind_stack *w)
{
	uint32_t nr = w->nr;

	while (nr && stack_is_ours(w->frame[nr - 1].pc))
		nr--;
	return nr;
}

/* S->frames is a walk from REGS->pc, which leave_agent() did not know how to leave. */
static SLOW void
learn_way(struct last_stacks *s, const struct unwind_regs *regs)
{
	const uint32_t nr = nr_outside(&s->frames);
	struct unwind_way way = { 0 };

	if (nr && nr < s->frames.nr)
		unwind_way_learn(&s->frames, regs, nr - 1, &way);
	if (way.pc)
		s->way[s->nr_ways++ % STACK_NR_WAYS] = way;
}

/* ---- in a build that checks (--enable-checked-walks) ---- */

#ifdef CHECKED_WALKS
/* The innermost frame of a walk does not show how it was found. */
static bool
is_same_frame(const struct unwind_frame *a, const struct unwind_frame *b, bool is_innermost)
{
	const uint32_t mask = is_innermost ? UNWIND_EXACT | UNWIND_OF_TABLE : UINT32_MAX;

	return a->pc == b->pc && a->sp == b->sp && a->fp == b->fp && !((a->how ^ b->how) & mask);
}

/* True if A and B are the same stack outside of the agent.  Only B may have been cut. */
static bool
is_same_outside(const struct unwind_stack *a, const struct unwind_stack *b)
{
	const uint32_t nr = nr_outside(b), more = nr_outside(a) - nr;

	if (nr_outside(a) < nr || (b->end != UNWIND_CUT && (more || a->end != b->end)))
		return false;
	for (uint32_t i = 0; i < nr; i++)
		if (!is_same_frame(&a->frame[more + i], &b->frame[i], i == nr - 1))
			return false;
	return true;
}

/*
 * End the program if WALKED, part of which was reused or left out, differs from a complete walk.
 */
static void
check_walk(const struct unwind_stack *walked, const struct unwind_regs *regs,
	const struct unwind_thread *thread)
{
#define MAX_CHECKED (WIRE_MAX_FRAMES + UNWIND_WAY_FRAMES)
	static char room[sizeof(struct unwind_stack) +
		2 * MAX_CHECKED * sizeof(struct unwind_frame)] __attribute__((aligned(16)));
	static bool is_taken;
	struct unwind_stack *whole = (struct unwind_stack *)(void *)room;
	struct unwind_regs inside = *regs;
	bool is_same;

	if (__atomic_exchange_n(&is_taken, true, __ATOMIC_ACQUIRE))
		return; /* another thread has the turn */
	unwind_from_inside(&inside);
	unwind_stack_init(whole, MAX_CHECKED);
	unwind_walk(whole, &inside, thread);
	is_same = is_same_outside(whole, walked);
	__atomic_store_n(&is_taken, false, __ATOMIC_RELEASE);
	if (is_same)
		return;
	say_string("a stack was taken over that a walk does not find", "");
	__builtin_trap();
}

/* As check_walk(), for a stack WALKED that was recognised by its words, so FP may differ in it. */
static void
check_recent(struct unwind_stack *walked, const struct unwind_regs *regs,
	const struct unwind_thread *thread)
{
	if (!unwind_is_same(walked, regs, thread)) {
		if (walked->generation != unwind_generation())
			return; /* another thread has loaded an object since */
		say_string("a stack has words that its frames have not", "");
		__builtin_trap();
	}
	check_walk(walked, regs, thread);
}
#else
static void
check_walk(const struct unwind_stack *walked, const struct unwind_regs *regs,
	const struct unwind_thread *thread)
{
	(void)walked, (void)regs, (void)thread;
}

static void
check_recent(struct unwind_stack *walked, const struct unwind_regs *regs,
	const struct unwind_thread *thread)
{
	(void)walked, (void)regs, (void)thread;
}
#endif

/* The return address, which is after the call instruction. */
static inline uint64_t
address_in_caller(const struct unwind_frame *f)
{
	return f->how & UNWIND_EXACT ? f->pc + 1 : f->pc;
}

/* The return address with the number of its object. */
static uint64_t
stack_address_of(const struct unwind_frame *f)
{
	const uint64_t at = address_in_caller(f);

	return wire_frame(at, unwind_number_of(at - 1));
}

/* ---- stacks that were found before ---- */

/*
 * The hash of a stack with one more frame or call, given the hash of the stack without it.  Stacks
 * that differ in one address never have the same hash.
 */
static inline uint64_t
hash_with(uint64_t hash, uint64_t address)
{
	hash = (hash ^ address) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

static uint64_t
hash_call(const struct python_frames *p, const struct python_call *call, uint64_t hash)
{
	for (uint32_t i = call->first + call->nr; i-- > call->first;)
		hash = hash_with(hash, wire_label(WIRE_LABEL_CODE, p->code[i]));
	return hash;
}

/* The index of the outermost present call at or inside of frame FROM, plus 1. */
static uint32_t
first_call(const struct python_frames *p, uint32_t from)
{
	uint32_t call = p->nr_calls;

	while (call && p->call[call - 1].native < from)
		call--;
	return call;
}

/*
 * Set the hashes of S->frames from frame FROM on, with the present calls, and forget their nodes.
 * Returns the hash of the stack.
 */
static uint64_t
set_hashes(struct last_stacks *s, uint32_t from)
{
	const struct python_frames *p = &s->calls.now;
	struct unwind_stack *const w = &s->frames;
	uint32_t call = first_call(p, from);
	uint64_t hash = from ? w->frame[from - 1].hash
			     : hash_with(hash_with(s->seed, w->generation), w->end);

	for (uint32_t i = from; i < w->nr; i++) {
		struct unwind_frame *f = &w->frame[i];

		if (UNLIKELY(call && p->call[call - 1].native == i))
			hash = hash_call(p, &p->call[--call], hash);
		else if (!stack_is_ours(f->pc))
			hash = hash_with(hash, address_in_caller(f));
		f->hash = hash;
		f->node = 0;
	}
	return hash;
}

/* Add the nodes of S->frames that are not set.  Returns the innermost node. */
static uint32_t
set_nodes(struct last_stacks *s)
{
	const struct python_frames *p = &s->calls.now;
	struct unwind_stack *const w = &s->frames;
	uint32_t node = 0, call, from = w->nr;

	while (from && !w->frame[from - 1].node)
		from--;
	call = first_call(p, from);
	if (from)
		node = w->frame[from - 1].node;
	else if (w->end != UNWIND_COMPLETE)
		node = sites_child(0, wire_label(WIRE_LABEL_CUT, 0));
	for (uint32_t i = from; i < w->nr; i++) {
		struct unwind_frame *f = &w->frame[i];

		if (call && p->call[call - 1].native == i)
			node = python_calls_node(&s->calls, &p->call[--call], node);
		else if (!stack_is_ours(f->pc))
			node = sites_child(node, stack_address_of(f));
		f->node = node;
	}
	return node;
}

#ifdef CHECKED_WALKS
/* True if NODE is the child of *AT for ADDRESS; *AT becomes its parent. */
static bool
goes_up(uint32_t *at, uint64_t address)
{
	const struct wire_node *node = &wire_nodes(sites)[*at];

	*at = node->parent;
	return node->address == address;
}

/* End the program if NODE, which was found by a hash, is not that of S->frames. */
static void
check_node(const struct last_stacks *s, uint32_t node)
{
	const struct python_frames *p = &s->calls.now;
	const struct unwind_stack *w = &s->frames;
	uint32_t call = 0;
	bool is_same = true;

	for (uint32_t i = w->nr; i-- > 0;) {
		while (call < p->nr_calls && p->call[call].native > i)
			call++;
		if (call < p->nr_calls && p->call[call].native == i) {
			const struct python_call *c = &p->call[call];

			for (uint32_t k = c->first; k < c->first + c->nr; k++)
				if (p->code[k])
					is_same &= goes_up(
						&node, wire_label(WIRE_LABEL_CODE, p->code[k]));
		} else if (!stack_is_ours(w->frame[i].pc)) {
			is_same &= goes_up(&node, stack_address_of(&w->frame[i]));
		}
	}
	if (w->end != UNWIND_COMPLETE)
		is_same &= goes_up(&node, wire_label(WIRE_LABEL_CUT, 0));
	if ((is_same && !node) || w->generation != unwind_generation())
		return;
	say_string("a stack has the hash of another one", "");
	__builtin_trap();
}
#else
static void
check_node(const struct last_stacks *s, uint32_t node)
{
	(void)s, (void)node;
}
#endif

/* The result for the stack with HASH, which is that of S->frames. */
static struct stack_result *
find_result(struct last_stacks *s, uint64_t hash)
{
	struct stack_result *r = &s->result[hash & (s->nr_results - 1)];
	uint32_t node;

	if (LIKELY(r->hash == hash && r->node)) {
		check_node(s, r->node);
		return r;
	}
	node = set_nodes(s);
	/* If the generation is unknown, the next walk may find another object at an address. */
	if (!node || node == UINT32_MAX || !s->frames.generation)
		r = &s->other;
	/* A signal handler may interrupt this function and leave by longjmp(). */
	r->node = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	r->hash = hash;
	r->site = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	r->node = node;
	return r;
}

static struct stack_result *
walk_and_find(struct last_stacks *s, const struct unwind_regs *regs, const struct unwind_thread *t)
{
	uint32_t change;
	uint64_t hash;

	unwind_walk(&s->frames, regs, t);
	check_walk(&s->frames, regs, t);
	if (UNLIKELY(regs->from.is_exact))
		learn_way(s, regs);
	python_calls_read(&s->calls, &s->frames);
	change = python_calls_first_change(&s->calls, s->word, s->nr_words);
	hash = set_hashes(s, change < s->frames.nr_same ? change : s->frames.nr_same);
	s->nr_words = python_calls_words(&s->calls, s->word);
	return find_result(s, hash);
}

/* ---- the last stacks ---- */

/* The index of the first recent stack that a stack from SP may be equal to. */
static uint32_t
set_of(uintptr_t sp)
{
	const uint64_t h = sp * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(h >> 56) % (STACK_NR_RECENT / STACK_RECENT_WAYS) * STACK_RECENT_WAYS;
}

/* True if the native frames of R are those of REGS. */
static bool
has_frames(struct stack_recent *r, const struct unwind_regs *regs, const struct unwind_thread *t)
{
	if (LIKELY(r->words.nr))
		return unwind_has_words(&r->words, regs, t);
	return unwind_is_same(frames_of(r), regs, t);
}

#ifdef CHECKED_WALKS
/* End the program if calls of R were recognised but differ from the present ones. */
static void
stack_check_calls(struct last_stacks *s, const struct stack_recent *r)
{
	python_calls_read(&s->calls, frames_of(r));
	if (python_calls_first_change(&s->calls, r->word, r->nr_words) == UINT32_MAX)
		return;
	say_string("calls of an interpreter were known again that are not there", "");
	__builtin_trap();
}
#else
static void
stack_check_calls(struct last_stacks *s, const struct stack_recent *r)
{
	(void)s, (void)r;
}
#endif

/* True if the present calls are those of R, which has index AT and the present native frames. */
static inline bool
has_calls(struct last_stacks *s, struct stack_recent *r, uint32_t at, uint32_t *native)
{
	if (LIKELY(!r->nr_words && !python_is_there))
		return true;
	if (LIKELY(python_is_as_known(&r->known))) {
		stack_check_calls(s, r);
		return true;
	}
	if (*native == STACK_NR_RECENT) {
		python_calls_read(&s->calls, frames_of(r));
		*native = at;
	}
	return python_calls_first_change(&s->calls, r->word, r->nr_words) == UINT32_MAX;
}

/*
 * True if the stack of REGS is the recent one with index AT. *NATIVE becomes AT if the native
 * frames are equal.
 */
static inline bool
is_recent(struct last_stacks *s, uint32_t at, const struct unwind_regs *regs,
	const struct unwind_thread *t, uint32_t *native)
{
	struct stack_recent *r = &s->recent[at];

	if (s->recent_sp[at] != regs->from.sp || !has_frames(r, regs, t))
		return false;
	if (*native == STACK_NR_RECENT)
		check_recent(frames_of(r), regs, t);
	return has_calls(s, r, at, native);
}

/* True if the stack of REGS is a recent one; its index is then in S->last. */
static bool
find_recent(struct last_stacks *s, const struct unwind_regs *regs, const struct unwind_thread *t)
{
	const uint32_t set = set_of(regs->from.sp), last = s->last;
	uint32_t at = last < STACK_NR_RECENT ? s->recent[last].next : set;
	uint32_t native = STACK_NR_RECENT;

	if (UNLIKELY(!is_recent(s, at, regs, t, &native))) {
		for (at = set; at < set + STACK_RECENT_WAYS; at++)
			if (is_recent(s, at, regs, t, &native))
				break;
		if (at == set + STACK_RECENT_WAYS) {
			if (native < STACK_NR_RECENT)
				s->last = native;
			return false;
		}
		if (last < STACK_NR_RECENT)
			s->recent[last].next = at;
	}
	s->last = at;
	return true;
}

/* Copy the last stack to S->frames if it is a recent one. */
static void
load_last(struct last_stacks *s)
{
	struct stack_recent *r = &s->recent[s->last];

	if (s->last == STACK_NR_RECENT || !frames_of(r)->is_kept)
		return;
	unwind_stack_forget(&s->frames);
	s->nr_words = r->nr_words;
	for (uint32_t i = 0; i < r->nr_words; i++)
		s->word[i] = r->word[i];
	unwind_stack_copy(&s->frames, frames_of(r));
}

/* Add S->frames, which begins at SP and has RESULT, to the recent stacks if it was seen before. */
static void
keep_recent(struct last_stacks *s, uintptr_t sp, const struct stack_result *result)
{
	const uint32_t node = result->node;
	const uint32_t at = set_of(sp) + s->nr_recent % STACK_RECENT_WAYS;
	struct stack_recent *r = &s->recent[at];
	const bool was_seen = s->seen[node % STACK_NR_SEEN] == node;

	s->last = STACK_NR_RECENT;
	s->seen[node % STACK_NR_SEEN] = node;
	if (!was_seen || !s->frames.is_kept || s->frames.end != UNWIND_COMPLETE ||
		s->frames.nr > STACK_RECENT_FRAMES || s->nr_words > STACK_RECENT_WORDS)
		return;
	s->nr_recent++;
	forget_recent(r);
	r->result = *result;
	r->nr_words = s->nr_words;
	for (uint32_t i = 0; i < s->nr_words; i++)
		r->word[i] = s->word[i];
	python_calls_know(&s->calls, &s->frames, &r->known);
	unwind_stack_copy(frames_of(r), &s->frames);
	unwind_note_words(&s->frames, &r->words);
	s->recent_sp[at] = sp;
	r->next = at;
	s->last = at;
}

/* True if recent stacks are to be searched now. */
static inline bool
is_seeking(struct last_stacks *s)
{
	if (LIKELY(s->recent && !s->nr_unsought))
		return true;
	s->nr_unsought -= s->nr_unsought > 0;
	return false;
}

/* The stack of REGS was not found among the recent ones.  LAST was the previous stack. */
static void
stack_learn(struct last_stacks *s, const struct unwind_regs *regs,
	const struct stack_result *result, uint32_t last)
{
	keep_recent(s, regs->from.sp, result);
	if (last < STACK_NR_RECENT && s->last < STACK_NR_RECENT)
		s->recent[last].next = s->last;
	if (--s->credit)
		return;
	s->credit = STACK_CREDIT;
	s->nr_unsought = s->next_unsought;
	if (s->next_unsought < STACK_MOST_UNSOUGHT)
		s->next_unsought *= 2;
	s->last = STACK_NR_RECENT;
}

const struct unwind_stack *
stack_frames(const struct last_stacks *s)
{
	return s->last < STACK_NR_RECENT ? frames_of(&s->recent[s->last]) : &s->frames;
}

/* NOINLINE: the function's own frame is one of the agent's. */
__attribute__((noinline)) struct stack_result *
stack_find(struct last_stacks *s)
{
	struct others others;
	struct unwind_thread thread = {
		.find = stack_find_other, .may_read = may_read_other, .arg = &others
	};
	struct unwind_regs regs;
	struct stack_result *result;
	uint32_t last;

	unwind_capture(&regs);
	others.stack = s;
	others.readable.nr = 0;
	find_own(s, regs.sp);
	thread.own = (struct unwind_bounds){ s->own.start, s->own.end };
	leave_agent(s, &regs);
	if (!is_seeking(s))
		return walk_and_find(s, &regs, &thread);
	last = s->last;
	if (LIKELY(find_recent(s, &regs, &thread))) {
		s->credit += s->credit < STACK_MOST_CREDIT;
		if (UNLIKELY(s->credit == 2 * STACK_CREDIT))
			s->next_unsought = STACK_NR_UNSOUGHT;
		return &s->recent[s->last].result;
	}
	load_last(s);
	result = walk_and_find(s, &regs, &thread);
	stack_learn(s, &regs, result, last);
	return result;
}
