#include <config.h>

#include "agent/hook/sampling.h"

#include "agent/base/compiler.h"
#include "agent/base/real.h"
#include "agent/base/state.h"
#include "agent/hook/block-hooks.h"
#include "wire/wire.h"

void *
malloc_both_slowly(size_t size)
{
	return malloc_guarded_for(JOB_COUNT | JOB_SAMPLE, size);
}

void
free_both_slowly(void *block)
{
	free_guarded_for(JOB_COUNT | JOB_SAMPLE, block);
}

void *
malloc_recorded_slowly(size_t size)
{
	return malloc_guarded_for(JOB_RECORD, size);
}

void
free_recorded_slowly(void *block)
{
	free_guarded_for(JOB_RECORD, block);
}

void *
malloc_all_slowly(size_t size)
{
	return malloc_guarded_for(JOB_COUNT | JOB_RECORD, size);
}

void
free_all_slowly(void *block)
{
	free_guarded_for(JOB_COUNT | JOB_RECORD, block);
}

void *
malloc_sampled_slowly(size_t size)
{
	return malloc_guarded_for(JOB_SAMPLE, size);
}

/*
 * The most frequent case: no work is left after the real call.  A call of malloc() inside realloc()
 * is not a separate event.
 */
void *
malloc_sampled(size_t size)
{
	struct wire_thread *self = agent_self.place;

	if (UNLIKELY(!self || self->is_inside || sample_is_due(self, size)))
		return malloc_sampled_slowly(size);
	sample_pass(self, size);
	return real.malloc(size);
}

static SLOW void
free_sampled_slowly(void *block)
{
	free_guarded_for(JOB_SAMPLE, block);
}

void
free_sampled(void *block)
{
	if (UNLIKELY(sampled_may_have(block)))
		free_sampled_slowly(block);
	else
		real.free(block);
}

static void *
by_valloc(size_t alignment, size_t size)
{
	(void)alignment;
	return real.valloc(size);
}

static void *
by_pvalloc(size_t alignment, size_t size)
{
	(void)alignment;
	return real.pvalloc(size);
}

/* Define the hooks that differ only in their jobs. */
#define DEFINE_HOOKS(set, malloc_of_set, jobs)                                                     \
	void *calloc_##set(size_t nr, size_t size)                                                 \
	{                                                                                          \
		return calloc_for(jobs, nr, size);                                                 \
	}                                                                                          \
	void *realloc_##set(void *old, size_t size)                                                \
	{                                                                                          \
		return old ? realloc_for(jobs, old, size) : malloc_of_set(size);                   \
	}                                                                                          \
	void *memalign_##set(size_t alignment, size_t size)                                        \
	{                                                                                          \
		return aligned_for(jobs, real.memalign, alignment, size);                          \
	}                                                                                          \
	void *aligned_alloc_##set(size_t alignment, size_t size)                                   \
	{                                                                                          \
		return aligned_for(jobs, real.aligned_alloc, alignment, size);                     \
	}                                                                                          \
	int posix_memalign_##set(void **ret, size_t alignment, size_t size)                        \
	{                                                                                          \
		return posix_memalign_for(jobs, ret, alignment, size);                             \
	}                                                                                          \
	void *valloc_##set(size_t size)                                                            \
	{                                                                                          \
		return aligned_for(jobs, by_valloc, 4096, size);                                   \
	}                                                                                          \
	void *pvalloc_##set(size_t size)                                                           \
	{                                                                                          \
		return aligned_for(jobs, by_pvalloc, 4096, size);                                  \
	}
DEFINE_HOOKS(sampled, malloc_sampled, JOB_SAMPLE)
DEFINE_HOOKS(both, malloc_both_slowly, JOB_COUNT | JOB_SAMPLE)
DEFINE_HOOKS(recorded, malloc_recorded_slowly, JOB_RECORD)
DEFINE_HOOKS(all, malloc_all_slowly, JOB_COUNT | JOB_RECORD)
#undef DEFINE_HOOKS
