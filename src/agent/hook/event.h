/*
 * event: the seam between the hooks and the jobs, which do something with what happens there.
 *
 *	live.c hooks.c mappings.c		what the program calls; they make the real call
 *	event.h					what happens, in their words
 *	count-blocks.h count-mappings.h		the counter
 *	sample.h sample-mappings.h		the sampler
 *	record.h				the recorder
 *
 * A hook is compiled for a set of jobs.  JOBS is a constant in it, and everything here is inline:
 * so a job that is not in the set leaves no code in the hook, and nothing is tested at run time.  A
 * function has one hook for each set that can be chosen.  In a process that ran already memdiag
 * sets the hooks that live.c lists; where the program calls a hook by its name, agent_mode says
 * which one is meant.
 *
 * Each call has an event before the real call, which can refuse it, and one after it.  Jobs
 * keep data in between in a struct of the hook's.  That a block is freed has to be noted before the
 * real call: after it the address may be another thread's.
 *
 * Events return the block that they are given, so that a hook need not keep it while a job does
 * something slow.
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

/*
 * A set is the sum of these.  A new job has its lines below in each event that it wants to know of.
 */
enum event_job {
	JOB_COUNT = 1,		 /* count what the settings say, and hold the limit */
	JOB_COUNT_QUICKLY = 2,	 /* usable bytes of a plain glibc, without a limit */
	JOB_COUNT_REQUESTED = 4, /* the same with requested bytes */
	JOB_SAMPLE = 8,		 /* note the stacks of samples, and of all mappings */
	JOB_RECORD = 16,	 /* note those of all blocks; mappings are noted as a JOB_SAMPLE */
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

/* ---- a block is taken ---- */

/* May a block of SIZE be taken?  False: the call must fail, and errno is set. */
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
 * The real call has returned BLOCK for SIZE; NULL: it failed.  Returns NULL also if a job has freed
 * it.
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

/* ---- a block is given back ---- */

/* BLOCK is about to be freed; on the quick ways it has no mapping of its own.  Returns it. */
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

/* It was freed. */
INLINE void
event_given(unsigned int jobs, struct wire_thread *self, const struct event_block *e)
{
	if (jobs & JOB_COUNT)
		count_given(self, e->counted_bytes);
}

/* ---- a block is resized ---- */

/*
 * May the block OLD become one of SIZE, or be freed if that is 0?  False: the call must fail, and
 * errno is set.
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

/* The real call, as jobs want it to be made. */
INLINE void *
event_realloc(
	unsigned int jobs, struct wire_thread *self, void *old, size_t size, struct event_resize *e)
{
	if (jobs & JOB_COUNT && e->count.must_move)
		return count_move(self, old, size, &e->count);
	/* realloc(block, 0) frees it, and would not with a tail; of some mallocs it does not. */
	return real.realloc(old, size ? event_asked(jobs, size) : 0);
}

/* OLD has become BLOCK.  NULL: the old one is still there or, if SIZE is 0, freed. */
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
 * IS_NOTED is whether the sampler is to know of the call: not of those that libc makes for itself,
 * as malloc's in a process that ran already.
 */

/* May M be mapped?  False, here and below: the call must fail, and errno is set. */
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

/* It is at MAPPED; MAP_FAILED: the call failed, and may have unmapped what was there. */
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

/* May [AT, AT + BYTES) have the protection PROT? */
INLINE bool
event_may_protect(unsigned int jobs, struct wire_thread *self, void *at, size_t bytes, int prot,
	struct event_mapping *ret)
{
	return !(jobs & JOB_COUNT) || count_may_protect(self, at, bytes, prot, &ret->count);
}

/* ERROR is 0 or, if some of it has not, the errno. */
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
