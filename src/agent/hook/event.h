/*
 * event: the interface between the hooks and the jobs, which process the events of hooked calls.
 *
 *	live.c hooks.c mappings.c		what the program calls; they make the real call
 *	event.h					what happens, in their words
 *	count-blocks.h count-mappings.h		the counter
 *	sample.h sample-mappings.h		the sampler
 *	record.h				the recorder
 *
 * A hook is compiled for a set of jobs.  JOBS is a constant in it, and all functions here are
 * inline, so a job outside the set adds no code to the hook, and no test is needed at run time.  A
 * function has one hook for each set that can be chosen.  In a process that ran already, memdiag
 * sets the hooks that live.c lists; if the program calls a hook by its name, agent_mode selects
 * one.
 *
 * Each call has an event before the real call, which can refuse the call, and one after it.
 * Between them, jobs keep data in a struct that the hook provides.  A free must be recorded before
 * the real call: after it, another thread may own the address.
 *
 * Events return the block that was passed to them, so that a hook need not save it across a slow
 * job.
 */
#ifndef MEMDIAG_AGENT_HOOK_EVENT_H
#define MEMDIAG_AGENT_HOOK_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/compiler.h"
#include "agent/base/mapping.h"
#include "agent/base/real.h"
#include "agent/count/count-blocks.h"
#include "agent/count/count-mappings.h"
#include "agent/note/record.h"
#include "agent/note/sample-mappings.h"
#include "agent/note/sample.h"
#include "wire/wire.h"

/* A set is the sum of these values.  A new job adds its lines to each event below that it needs. */
enum event_job {
	JOB_COUNT = 1,		 /* count according to the settings, and enforce the limit */
	JOB_COUNT_QUICKLY = 2,	 /* usable bytes under a plain glibc, without a limit */
	JOB_COUNT_REQUESTED = 4, /* requested bytes under a plain glibc, without a limit */
	JOB_SAMPLE = 8,		 /* record the stacks of samples and of all mappings */
	JOB_RECORD = 16,	 /* stacks of all blocks, and mappings like JOB_SAMPLE */
};

/* The data that jobs keep between the events of a call. */
struct event_block {
	int64_t counted_bytes;
};
struct event_resize {
	struct count_resize count;
	struct sample_resize sample;
	struct record_resize record;
};
struct event_mapping {
	struct count_mapping count;
	struct sample_mapping sample;
};
struct event_remap {
	struct count_remap count;
	struct sample_remap sample;
};

/* ---- a block is allocated ---- */

/* Ask whether a block of SIZE may be allocated.  False: the call must fail; errno is set. */
INLINE bool
event_may_take(unsigned int jobs, struct wire_thread *self, size_t size, struct event_block *ret)
{
	return !(jobs & JOB_COUNT) || count_may_take(self, size, &ret->counted_bytes);
}

/* The size to request from malloc for a block of SIZE. */
INLINE size_t
event_asked(unsigned int jobs, size_t size)
{
	if (jobs & JOB_COUNT_REQUESTED)
		return size + BLOCK_TAIL;
	return jobs & JOB_COUNT ? block_asked(size) : size;
}

/*
 * The real call returned BLOCK for SIZE, or NULL if it failed.  Returns BLOCK, or NULL if a job has
 * freed it.
 */
INLINE void *
event_taken(unsigned int jobs, struct wire_thread *self, void *block, size_t size,
	const struct event_block *e)
{
	if (jobs & JOB_COUNT)
		block = count_taken(self, block, size, e->counted_bytes);
	if (jobs & JOB_COUNT_QUICKLY)
		block = count_taken_quickly(self, block);
	if (jobs & JOB_COUNT_REQUESTED)
		block = count_taken_requested(self, block, size);
	if (jobs & JOB_SAMPLE)
		block = sample_taken(self, block, size);
	if (jobs & JOB_RECORD)
		block = record_taken(self, block, size);
	return block;
}

/* ---- a block is freed ---- */

/* BLOCK is about to be freed; on the quick paths it has no separate mapping.  Returns BLOCK. */
INLINE void *
event_giving(unsigned int jobs, struct wire_thread *self, void *block, struct event_block *ret)
{
	if (jobs & JOB_COUNT)
		ret->counted_bytes = block_counted(block, true);
	if (jobs & JOB_COUNT_QUICKLY)
		block = count_giving_quickly(self, block);
	if (jobs & JOB_COUNT_REQUESTED)
		block = count_giving_slowly(self, block, block_counted(block, true));
	if (jobs & JOB_SAMPLE)
		block = sample_giving(self, block);
	if (jobs & JOB_RECORD)
		block = record_giving(self, block);
	return block;
}

/* The block of the last event_giving() was freed. */
INLINE void
event_given(unsigned int jobs, struct wire_thread *self, const struct event_block *e)
{
	if (jobs & JOB_COUNT)
		count_given(self, e->counted_bytes);
}

/* ---- a block is resized ---- */

/*
 * Ask whether the block OLD may be resized to SIZE, or freed if SIZE is 0.  False: the call must
 * fail; errno is set.
 */
INLINE bool
event_may_resize(unsigned int jobs, struct wire_thread *self, void *old, size_t size,
	struct event_resize *ret)
{
	if (jobs & JOB_COUNT && !count_may_resize(self, old, size, &ret->count))
		return false;
	if (jobs & JOB_SAMPLE)
		sample_resizing(self, old, &ret->sample);
	if (jobs & JOB_RECORD)
		record_resizing(self, old, &ret->record);
	return true;
}

/* Make the real call in the way that the jobs need. */
INLINE void *
event_realloc(
	unsigned int jobs, struct wire_thread *self, void *old, size_t size, struct event_resize *e)
{
	if (jobs & JOB_COUNT && e->count.must_move)
		return count_move(self, old, size, &e->count);
	/*
	 * realloc(block, 0) frees the block, but would not if a tail were added to the size.  Some
	 * mallocs do not free it.
	 */
	return real.realloc(old, size ? event_asked(jobs, size) : 0);
}

/* OLD was resized to BLOCK.  NULL: OLD still exists or, if SIZE is 0, was freed. */
INLINE void *
event_resized(unsigned int jobs, struct wire_thread *self, void *old, void *block, size_t size,
	const struct event_resize *e)
{
	if (jobs & JOB_COUNT)
		block = count_resized(self, block, size, &e->count);
	if (jobs & JOB_SAMPLE)
		block = sample_resized(self, old, block, size, &e->sample);
	if (jobs & JOB_RECORD)
		block = record_resized(self, old, block, size, &e->record);
	return block;
}

/* ---- mappings ---- */

/*
 * IS_NOTED is true if the sampler records the call.  It is false for calls that libc makes for
 * itself, as malloc does in a process that ran already.
 */

/* Ask whether M may be mapped.  False, here and below: the call must fail; errno is set. */
INLINE bool
event_may_map(unsigned int jobs, struct wire_thread *self, const struct map_call *m, bool is_noted,
	struct event_mapping *ret)
{
	if (jobs & JOB_COUNT && !count_may_map(self, m, &ret->count))
		return false;
	if (jobs & JOB_SAMPLE)
		sample_mapping(self, m, is_noted, &ret->sample);
	return true;
}

/* M was mapped at MAPPED.  MAP_FAILED: the call failed, and may have unmapped the old mapping. */
INLINE void
event_mapped(unsigned int jobs, const struct map_call *m, void *mapped, struct event_mapping *e)
{
	if (jobs & JOB_COUNT)
		count_mapped(m, mapped, &e->count);
	if (jobs & JOB_SAMPLE)
		sample_mapped(m, mapped, &e->sample);
}

/* [AT, AT + BYTES) is about to be unmapped, which cannot be refused. */
INLINE void
event_unmapping(unsigned int jobs, struct wire_thread *self, void *at, size_t bytes, bool is_noted,
	struct event_mapping *ret)
{
	if (jobs & JOB_COUNT)
		count_unmapping(self, at, bytes, &ret->count);
	if (jobs & JOB_SAMPLE)
		sample_unmapping(self, at, bytes, is_noted, &ret->sample);
}

INLINE void
event_unmapped(unsigned int jobs, void *at, size_t bytes, bool has_failed, struct event_mapping *e)
{
	if (jobs & JOB_COUNT)
		count_unmapped(at, bytes, has_failed, &e->count);
	if (jobs & JOB_SAMPLE)
		sample_unmapped(at, bytes, has_failed, &e->sample);
}

INLINE bool
event_may_remap(unsigned int jobs, struct wire_thread *self, const struct remap_call *r,
	bool is_noted, struct event_remap *ret)
{
	if (jobs & JOB_COUNT && !count_may_remap(self, r, &ret->count))
		return false;
	if (jobs & JOB_SAMPLE)
		sample_remapping(self, r, is_noted, &ret->sample);
	return true;
}

INLINE void
event_remapped(unsigned int jobs, const struct remap_call *r, void *mapped, struct event_remap *e)
{
	if (jobs & JOB_COUNT)
		count_remapped(r, mapped, &e->count);
	if (jobs & JOB_SAMPLE)
		sample_remapped(r, mapped, &e->sample);
}

/* Ask whether [AT, AT + BYTES) may get the protection PROT. */
INLINE bool
event_may_protect(unsigned int jobs, struct wire_thread *self, void *at, size_t bytes, int prot,
	struct event_mapping *ret)
{
	return !(jobs & JOB_COUNT) || count_may_protect(self, at, bytes, prot, &ret->count);
}

/* The protection was set.  ERROR is 0, or the errno if part of the range is unchanged. */
INLINE void
event_protected(unsigned int jobs, struct wire_thread *self, void *at, size_t bytes, int prot,
	int error, bool is_noted, struct event_mapping *e)
{
	if (jobs & JOB_COUNT)
		count_protected(at, bytes, prot, error, &e->count);
	if (jobs & JOB_SAMPLE)
		sample_protected(self, at, bytes, prot, error, is_noted);
}

#endif
