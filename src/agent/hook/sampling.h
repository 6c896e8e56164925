/*
 * sampling: the hooks that take samples or record all blocks, with or without the counter, in a
 * process that ran already (live.c) and in one that calls the agent by name (hooks.c).  The most
 * frequent calls have separate hooks, with the counter and with a record.
 */
#ifndef MEMDIAG_AGENT_HOOK_SAMPLING_H
#define MEMDIAG_AGENT_HOOK_SAMPLING_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

/*
 * _sampled: only the sampler; _both: sampler and counter; _recorded: only the recorder; _all:
 * recorder and counter.
 */
void *malloc_sampled(size_t size);
void *malloc_sampled_slowly(size_t size);
void free_sampled(void *block);
void *malloc_both_slowly(size_t size);
void free_both_slowly(void *block);
void *malloc_recorded_slowly(size_t size);
void free_recorded_slowly(void *block);
void *malloc_all_slowly(size_t size);
void free_all_slowly(void *block);
#define DECLARE_HOOKS(set)                                                                         \
	void *calloc_##set(size_t nr, size_t size);                                                \
	void *realloc_##set(void *old, size_t size);                                               \
	void *memalign_##set(size_t alignment, size_t size);                                       \
	void *aligned_alloc_##set(size_t alignment, size_t size);                                  \
	int posix_memalign_##set(void **ret, size_t alignment, size_t size);                       \
	void *valloc_##set(size_t size);                                                           \
	void *pvalloc_##set(size_t size);
DECLARE_HOOKS(sampled)
DECLARE_HOOKS(both)
DECLARE_HOOKS(recorded)
DECLARE_HOOKS(all)
#undef DECLARE_HOOKS

#pragma GCC visibility pop

#endif
