#include <config.h>

#include "agent/note/sample.h"

#include "agent/base/segment.h"
#include "agent/base/state.h"
#include "agent/base/thread.h"
#include "agent/note/mapped.h"
#include "agent/note/notes.h"
#include "agent/note/probes.h"
#include "agent/note/sites.h"
#include "agent/note/stack.h"
#include "agent/note/trigger.h"

/*
 * A block is temporary if its thread frees it before it has allocated this many bytes: a function
 * needed it for its work only.
 */
#define TEMPORARY_BYTES 4096

/* ---- the next sample ---- */

/*
 * LEFT_BYTES are left until the next sample.  If large calls are recorded, the countdown is at most
 * the size of a large call, so that each of these reaches the slow path.  It never exceeds
 * SAMPLE_LOOK_BYTES: a thread that was in a hook when sampling started again may write back the
 * earlier countdown, and must notice the new start soon.
 */
static void
set_countdown(struct wire_thread *self, struct notes *n, uint64_t left_bytes)
{
	const uint64_t large = sites->triggers.threshold_bytes;
	const uint64_t most = large && large < SAMPLE_LOOK_BYTES ? large : SAMPLE_LOOK_BYTES;
	const uint64_t now = most < left_bytes ? most : left_bytes;

	self->countdown_bytes = (int64_t)now;
	n->of.sampler.ahead_bytes = left_bytes - now;
}

static void
sample_draw(struct wire_thread *self, struct notes *n)
{
	const uint64_t step = (uint64_t)chance_step(&n->of.sampler.random, sites->period_bytes);

	n->of.sampler.drawn_bytes += step;
	set_countdown(self, n, step);
}

static uint64_t
seed_of(const struct wire_thread *self)
{
	return sites->started_ns * UINT64_C(0x2545f4914f6cdd1d) ^
		(uint64_t)(uintptr_t)self * UINT64_C(0x9e3779b97f4a7c15) ^ thread_id();
}

/* The number of bytes that SELF has allocated so far. */
static uint64_t
clock_of(const struct wire_thread *self, const struct notes *n)
{
	return n->of.sampler.drawn_bytes - (uint64_t)self->countdown_bytes -
		n->of.sampler.ahead_bytes;
}

/* ---- a sample ---- */

/*
 * SELF->tid is not used: in a static program it may belong to an earlier thread on the same stack.
 */
static uint32_t
sample_find_site(struct notes *n, size_t size)
{
	uint32_t node = stack_find(&n->stack)->node;

	node = sites_child(node, wire_label(WIRE_LABEL_SIZE, wire_size_class(size)));
	node = sites_child(node, wire_label(WIRE_LABEL_THREAD, thread_id()));
	return sites_of(node);
}

/*
 * Count a block of SIZE that should be sampled but cannot be.  The next sample is at the usual
 * distance.
 */
static void
sample_lose(struct wire_thread *self, size_t size)
{
	uint64_t period;

	if (!sites_hold())
		return;
	period = sites->period_bytes;
	sites_let_go();
	self->countdown_bytes = (int64_t)(period < SAMPLE_LOOK_BYTES ? period : SAMPLE_LOOK_BYTES);
	notes_lose(size > period ? size : period);
}

/* Record BLOCK of SIZE, so that its free is recognised. */
static void
know(const void *block, size_t size, const struct sampled_block *what)
{
	probe_alloc(block, size, what->amount.bytes);
	if (!sampled_add(block, what))
		__atomic_add_fetch(&sites->nr_forgotten, 1, __ATOMIC_RELAXED);
}

static void
sample_note(const struct wire_thread *self, struct notes *n, void *block, size_t size)
{
	const struct sampled_block what = { chance_amount(&n->of.sampler.random, size,
						    sites->period_bytes),
		sample_find_site(n, size), (uint32_t)(self - wire_threads(segment)),
		clock_of(self, n) };
	struct sampled_block earlier;

	/* An earlier block had this address, and its free was missed. */
	if (sampled_may_have(block) && sampled_remove(block, &earlier)) {
		probe_free(block);
		sites_subtract(earlier.site, earlier.amount, false);
	}
	sites_add(what.site, what.amount);
	know(block, size, &what);
}

/* The mark shows memdiag that a thread is here. */
static bool
sample_begin(struct wire_thread *self, struct notes *n, bool *ret_was_inside)
{
	if (!notes_enter(self, n))
		return false;
	*ret_was_inside = self->is_inside;
	agent_set_inside(self, true);
	return true;
}

static void
sample_end(struct wire_thread *self, struct notes *n, bool was_inside)
{
	agent_set_inside(self, was_inside);
	notes_leave(n);
}

void
sample_prepare(struct wire_thread *self)
{
	struct notes *n = notes_of(self);

	if (LIKELY(n->turn == notes_turn))
		return;
	/* its first call */
	n->turn = notes_turn;
	n->of.sampler.random = seed_of(self);
	stack_init(&n->stack, notes_more(n));
	sample_draw(self, n);
}

static void
sample_take(struct wire_thread *self, struct notes *n, void *block, size_t size)
{
	uint64_t left;

	sample_prepare(self);
	if (UNLIKELY(sites->triggers.threshold_bytes && size >= sites->triggers.threshold_bytes))
		trigger_large(size, stack_find(&n->stack)->node, self->tid);
	left = (uint64_t)self->countdown_bytes + n->of.sampler.ahead_bytes;
	if (left > chance_bytes(size)) {
		set_countdown(self, n, left - chance_bytes(size));
		return;
	}
	sample_note(self, n, block, size);
	mapped_note();
	sample_draw(self, n);
	trigger_check();
}

void *
sample_taken_slowly(struct wire_thread *self, void *block, size_t size)
{
	bool was_inside;

	if (UNLIKELY(notes_are_off())) {
		self->countdown_bytes = SAMPLE_LOOK_BYTES;
		return block;
	}
	if (!sample_begin(self, notes_of(self), &was_inside)) {
		sample_lose(self, size);
		return block;
	}
	sample_take(self, notes_of(self), block, size);
	sample_end(self, notes_of(self), was_inside);
	return block;
}

/* ---- freed ---- */

static bool
is_temporary(const struct wire_thread *self, const struct sampled_block *b)
{
	return b->place && self == &wire_threads(segment)[b->place] &&
		clock_of(self, notes_of(self)) - b->clock_bytes <= TEMPORARY_BYTES;
}

/* Remove BLOCK, which is about to be freed, from the live blocks.  False if it was not sampled. */
static bool
sample_forget(const void *block, struct sampled_block *ret)
{
	if (!sampled_remove(block, ret))
		return false;
	probe_free(block);
	return true;
}

void *
sample_giving_slowly(struct wire_thread *self, void *block)
{
	struct sampled_block was;
	bool was_inside;

	if (notes_are_off())
		return block;
	if (!sample_begin(self, notes_of(self), &was_inside)) {
		notes_miss();
		return block;
	}
	if (sample_forget(block, &was))
		sites_subtract(was.site, was.amount, is_temporary(self, &was));
	sample_end(self, notes_of(self), was_inside);
	return block;
}

/* ---- resized ---- */

/*
 * Keep the block as live in its site until the real call has ended, and after it if the call fails.
 * Its address is removed now, since another block may have it before the call returns.
 */
void
sample_resizing_slowly(struct wire_thread *self, void *old, struct sample_resize *ret)
{
	bool was_inside;

	if (notes_are_off())
		return;
	if (!sample_begin(self, notes_of(self), &was_inside)) {
		notes_miss();
		return;
	}
	ret->was_sampled = sample_forget(old, &ret->was);
	ret->turn = notes_turn;
	sample_end(self, notes_of(self), was_inside);
}

void
sample_resized_slowly(
	struct wire_thread *self, void *old, bool has_failed, const struct sample_resize *r)
{
	bool was_inside;

	if (!sample_begin(self, notes_of(self), &was_inside)) {
		notes_miss();
		return;
	}
	/* If sampling has started again meanwhile, the block is not in the new notes. */
	if (r->turn == notes_turn && !has_failed)
		sites_subtract(r->was.site, r->was.amount, false);
	else if (r->turn == notes_turn)
		know(old, r->was.amount.bytes, &r->was); /* on average this was its size */
	sample_end(self, notes_of(self), was_inside);
}
