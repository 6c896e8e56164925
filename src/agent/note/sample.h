/*
 * sample: the sampler as a job: of the bytes that are allocated one in sites->period_bytes is
 * sampled, and the block that it is in is noted with its stack.  A block that is not sampled costs
 * a subtraction when it is taken, and a load when it is freed.
 */
#ifndef MEMDIAG_AGENT_NOTE_SAMPLE_H
#define MEMDIAG_AGENT_NOTE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/compiler.h"
#include "agent/note/chance.h"
#include "agent/note/sampled.h"
#include "wire/wire.h"

#pragma GCC visibility push(hidden)

/*
 * A thread that has allocated so much looks whether it is to be sampled at all, or anew: at once
 * after notes_begin(), but a little later if it was in a hook just then.
 */
#define SAMPLE_LOOK_BYTES (INT64_C(1) << 20)

/* Bring the sampler's state of SELF, which is noting (notes_enter()), to this turn. */
void sample_prepare(struct wire_thread *self);

SLOW void *sample_taken_slowly(struct wire_thread *self, void *block, size_t size);
/* BLOCK is about to be freed: it is not live any more.  Returns it. */
SLOW void *sample_giving_slowly(struct wire_thread *self, void *block);

/* The note of a block that may stay as it is after all. */
struct sample_resize {
	struct sampled_block was;
	uint32_t turn; /* of the sampler, in which that was */
	bool was_sampled;
};
/* OLD is about to be resized or, by realloc(OLD, 0), freed. */
SLOW void sample_resizing_slowly(struct wire_thread *self, void *old, struct sample_resize *ret);
/* It was, or that HAS_FAILED. */
SLOW void sample_resized_slowly(
	struct wire_thread *self, void *old, bool has_failed, const struct sample_resize *r);

/* ---- what hooks call ---- */

/*
 * Whether a block of SIZE has the byte in it that is sampled next; or the thread has not begun.
 * For what can only fail either answer is good.
 */
INLINE bool
sample_is_due(const struct wire_thread *self, size_t size)
{
	return (uint64_t)self->countdown_bytes <= chance_bytes(size);
}

/* A block of SIZE, which has not, is taken. */
INLINE void
sample_pass(struct wire_thread *self, size_t size)
{
	self->countdown_bytes -= (int64_t)chance_bytes(size);
}

/* BLOCK was taken for SIZE; NULL: the call failed.  Returns it. */
INLINE void *
sample_taken(struct wire_thread *self, void *block, size_t size)
{
	if (UNLIKELY(!block))
		return NULL;
	if (UNLIKELY(sample_is_due(self, size)))
		return sample_taken_slowly(self, block, size);
	sample_pass(self, size);
	return block;
}

/* Returns BLOCK, which is about to be freed. */
INLINE void *
sample_giving(struct wire_thread *self, void *block)
{
	if (UNLIKELY(sampled_may_have(block)))
		return sample_giving_slowly(self, block);
	return block;
}

INLINE void
sample_resizing(struct wire_thread *self, void *old, struct sample_resize *ret)
{
	ret->was_sampled = false;
	if (UNLIKELY(sampled_may_have(old)))
		sample_resizing_slowly(self, old, ret);
}

/* OLD has become BLOCK; NULL: it is still there or, if SIZE is 0, freed. */
INLINE void *
sample_resized(struct wire_thread *self, void *old, void *block, size_t size,
	const struct sample_resize *r)
{
	if (UNLIKELY(r->was_sampled))
		sample_resized_slowly(self, old, !block && size, r);
	return sample_taken(self, block, size);
}

#pragma GCC visibility pop

#endif
