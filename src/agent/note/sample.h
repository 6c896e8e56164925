/*
 * sample: the sampler as a job.  One of sites->period_bytes allocated bytes is sampled, and the
 * block that contains it is recorded with its stack.  A block that is not sampled costs a
 * subtraction when it is allocated and a load when it is freed.
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
 * A thread that has allocated this many bytes checks whether it must sample, or start again.  After
 * notes_begin() it checks immediately, or a little later if it was in a hook.
 */
#define SAMPLE_LOOK_BYTES (INT64_C(1) << 20)

/* Bring the sampler's data of SELF, which is recording (notes_enter()), to the present turn. */
void sample_prepare(struct wire_thread *self);

SLOW void *sample_taken_slowly(struct wire_thread *self, void *block, size_t size);
/* BLOCK is about to be freed: remove it from the live blocks.  Returns BLOCK. */
SLOW void *sample_giving_slowly(struct wire_thread *self, void *block);

/* The data of a block that stays unchanged if the resize fails. */
struct sample_resize {
	struct sampled_block was;
	uint32_t turn; /* turn of the sampler at that time */
	bool was_sampled;
};
/* OLD is about to be resized, or freed by realloc(OLD, 0). */
SLOW void sample_resizing_slowly(struct wire_thread *self, void *old, struct sample_resize *ret);
/* OLD was resized or freed, or the call HAS_FAILED. */
SLOW void sample_resized_slowly(
	struct wire_thread *self, void *old, bool has_failed, const struct sample_resize *r);

/* ---- functions for hooks ---- */

/*
 * True if a block of SIZE contains the byte that is sampled next, or if the thread has not begun.
 * For a call that must fail, either answer is correct.
 */
INLINE bool
sample_is_due(const struct wire_thread *self, size_t size)
{
	return (uint64_t)self->countdown_bytes <= chance_bytes(size);
}

/* Count a block of SIZE that sample_is_due() has rejected. */
INLINE void
sample_pass(struct wire_thread *self, size_t size)
{
	self->countdown_bytes -= (int64_t)chance_bytes(size);
}

/* BLOCK was allocated for SIZE; NULL: the call failed.  Returns BLOCK. */
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

/* BLOCK is about to be freed.  Returns BLOCK. */
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

/* OLD was resized to BLOCK.  NULL: OLD still exists or, if SIZE is 0, was freed. */
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
