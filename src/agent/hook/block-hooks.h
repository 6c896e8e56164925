/*
 * block-hooks: the bodies of hooks of malloc and related functions.  The hooks for the program's
 * calls by name (hooks.c) and those in a process that ran already (live.c) share them.  Each body
 * makes the real call and reports the event to the jobs (event.h).  NAME_for() is compiled for a
 * set of jobs in each hook.
 */
#ifndef MEMDIAG_AGENT_HOOK_BLOCK_HOOKS_H
#define MEMDIAG_AGENT_HOOK_BLOCK_HOOKS_H

#include <errno.h>
#include <stddef.h>

#include "agent/base/block.h"
#include "agent/base/compiler.h"
#include "agent/base/early.h"
#include "agent/base/real.h"
#include "agent/base/state.h"
#include "agent/hook/agent.h"
#include "agent/hook/event.h"
#include "agent/hook/plain.h"
#include "wire/wire.h"

INLINE void *
malloc_guarded_for(unsigned int jobs, size_t size)
{
	struct wire_thread *self;
	struct event_block e;
	void *block = NULL;

	if (agent_is_off() && real.malloc)
		return real.malloc(size);
	self = agent_enter();
	if (UNLIKELY(!self))
		return plain_alloc(0, size);
	if (UNLIKELY(size > BLOCK_MAX))
		block = real.malloc(size);
	else if (LIKELY(event_may_take(jobs, self, size, &e)))
		block = event_taken(jobs, self, real.malloc(event_asked(jobs, size)), size, &e);
	agent_leave();
	return block;
}

INLINE void
free_guarded_for(unsigned int jobs, void *block)
{
	struct wire_thread *self;
	struct event_block e;

	if (agent_is_off() && real.free && !early_has(block)) {
		real.free(block);
		return;
	}
	self = agent_enter();
	if (UNLIKELY(!self)) {
		plain_free(block);
		return;
	}
	if (LIKELY(!early_has(block))) {
		block = event_giving(jobs, self, block, &e);
		real.free(block);
		event_given(jobs, self, &e);
	}
	agent_leave();
}

INLINE void *
calloc_for(unsigned int jobs, size_t nr, size_t size)
{
	struct wire_thread *self = agent_enter();
	struct event_block e;
	void *block = NULL;
	size_t bytes;

	if (UNLIKELY(!self))
		return plain_calloc(nr, size);
	if (UNLIKELY(__builtin_mul_overflow(nr, size, &bytes) || bytes > BLOCK_MAX))
		block = real.calloc(nr, size);
	else if (LIKELY(event_may_take(jobs, self, bytes, &e)))
		block = event_taken(
			jobs, self, real.calloc(1, event_asked(jobs, bytes)), bytes, &e);
	agent_leave();
	return block;
}

/* OLD is a block of the real malloc. */
INLINE void *
realloc_for(unsigned int jobs, void *old, size_t size)
{
	struct wire_thread *self = agent_enter();
	struct event_resize e;
	void *block = NULL;

	if (UNLIKELY(!self))
		return plain_realloc(old, size);
	if (UNLIKELY(size > BLOCK_MAX))
		block = real.realloc(old, size);
	else if (LIKELY(event_may_resize(jobs, self, old, size, &e)))
		block = event_resized(
			jobs, self, old, event_realloc(jobs, self, old, size, &e), size, &e);
	agent_leave();
	return block;
}

INLINE void *
aligned_for(unsigned int jobs, void *(*function)(size_t, size_t), size_t alignment, size_t size)
{
	struct wire_thread *self = agent_enter();
	struct event_block e;
	void *block = NULL;

	if (UNLIKELY(!self))
		return real.malloc ? function(alignment, size) : early_alloc(alignment, size);
	if (UNLIKELY(size > BLOCK_MAX))
		block = function(alignment, size);
	else if (LIKELY(event_may_take(jobs, self, size, &e)))
		block = event_taken(
			jobs, self, function(alignment, event_asked(jobs, size)), size, &e);
	agent_leave();
	return block;
}

INLINE int
posix_memalign_for(unsigned int jobs, void **ret, size_t alignment, size_t size)
{
	struct wire_thread *self = agent_enter();
	int failed = ENOMEM;
	struct event_block e;
	void *block = NULL;

	if (UNLIKELY(!self))
		return plain_posix_memalign(ret, alignment, size);
	if (UNLIKELY(size > BLOCK_MAX)) {
		failed = real.posix_memalign(ret, alignment, size);
	} else if (LIKELY(event_may_take(jobs, self, size, &e))) {
		failed = real.posix_memalign(&block, alignment, event_asked(jobs, size));
		block = event_taken(jobs, self, failed ? NULL : block, size, &e);
		if (block)
			*ret = block;
		else if (!failed)
			failed = ENOMEM;
	}
	agent_leave();
	return failed;
}

#endif
