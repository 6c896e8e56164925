/*
 * mappings: the hooks that record mmap and related functions, with and without the counter, for a
 * process that ran already (live.c).
 */
#ifndef MEMDIAG_AGENT_HOOK_MAPPINGS_H
#define MEMDIAG_AGENT_HOOK_MAPPINGS_H

#include <stddef.h>
#include <sys/types.h>

#pragma GCC visibility push(hidden)

#define DECLARE_HOOKS(set)                                                                         \
	void *mmap_##set(void *at, size_t bytes, int prot, int flags, int fd, off_t offset);       \
	int munmap_##set(void *at, size_t bytes);                                                  \
	void *mremap_##set(void *old, size_t had, size_t want, int flags, ...);                    \
	int mprotect_##set(void *at, size_t bytes, int prot);                                      \
	int pkey_mprotect_##set(void *at, size_t bytes, int prot, int pkey);
DECLARE_HOOKS(sampled)
DECLARE_HOOKS(both)
#undef DECLARE_HOOKS

#pragma GCC visibility pop

#endif
