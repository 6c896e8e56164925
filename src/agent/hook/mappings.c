/*
 * mappings: mmap and related functions.  Each hook makes the real call and reports the event to the
 * jobs (event.h).
 */
#include <config.h>

#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>

#include "agent/base/compiler.h"
#include "agent/base/early.h"
#include "agent/base/mode.h"
#include "agent/base/real.h"
#include "agent/base/state.h"
#include "agent/base/sys.h"
#include "agent/hook/agent.h"
#include "agent/hook/event.h"
#include "wire/wire.h"
#include "agent/hook/mappings.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4 /* since Linux 5.7 */
#endif

/* ---- callers ---- */

/*
 * True if the call that returns to CALLER may be the program's; false if libc makes it for itself.
 */
static inline bool
is_programs(uintptr_t caller)
{
	return !agent_is_libc(caller);
}

/*
 * As agent_enter(), but the thread is not marked, since it may leave a system call by longjmp().
 * If only samples are taken, calls by libc are ignored.
 */
INLINE struct wire_thread *
enter_unmarked(unsigned int jobs, bool is_noted)
{
	struct wire_thread *self;

	if (jobs == JOB_SAMPLE ? !is_noted
			       : !(jobs & JOB_SAMPLE) && mode_of_counter() >= AGENT_UNCOUNTED)
		return NULL;
	/* Checked first: thread-local storage may not exist before this is true. */
	self = LIKELY(agent_mode != AGENT_OFF) ? agent_self.place : NULL;
	if (UNLIKELY(!self || self->is_inside)) {
		/*
		 * This is a signal handler.  In a static program or under another malloc, it may be
		 * malloc itself.
		 */
		if (jobs & JOB_SAMPLE && is_noted && self && !agent_is_static && real_is_glibc)
			sample_lose_mapping();
		self = agent_enter();
		if (self)
			agent_leave();
	}
	return self;
}

static SLOW void
mappings_get_ready(void)
{
	if (agent_enter_slowly())
		agent_leave();
}

/* True if a call by name is to be recorded, including the first call of all. */
static inline bool
is_sampled(void)
{
	if (UNLIKELY(agent_mode == AGENT_OFF && !agent_has_started))
		mappings_get_ready();
	return UNLIKELY(agent_mode >= AGENT_SAMPLES);
}

/*
 * For each function, define one hook for each set of jobs, and the hook that the program calls by
 * name or that only counts.
 */
#define CALLER ((uintptr_t)__builtin_return_address(0))
#define DEFINE_HOOKS(type, name, parameters, ...)                                                  \
	type name##_sampled parameters                                                             \
	{                                                                                          \
		return name##_for(JOB_SAMPLE, CALLER, __VA_ARGS__);                                \
	}                                                                                          \
	type name##_both parameters                                                                \
	{                                                                                          \
		return name##_for(JOB_COUNT | JOB_SAMPLE, CALLER, __VA_ARGS__);                    \
	}                                                                                          \
	EXPORT type name parameters                                                                \
	{                                                                                          \
		if (is_sampled())                                                                  \
			return mode_counts() ? name##_both(__VA_ARGS__)                            \
					     : name##_sampled(__VA_ARGS__);                        \
		return name##_for(JOB_COUNT, 0, __VA_ARGS__);                                      \
	}

/* ---- mmap ---- */

/* Before ld.so has relocated the agent only a system call is possible, and errno cannot be set. */
static SLOW void *
plain_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	long mapped;

	if (real.mmap)
		return real.mmap(at, bytes, prot, flags, fd, offset);
	mapped = sys_call(SYS_mmap, at, bytes, prot, flags, fd, offset);
	return sys_failed(mapped) ? MAP_FAILED : (void *)mapped;
}

INLINE void *
mmap_for(unsigned int jobs, uintptr_t caller, void *at, size_t bytes, int prot, int flags, int fd,
	off_t offset)
{
	const bool is_noted = jobs & JOB_SAMPLE && is_programs(caller);
	/* A call that must fail is passed on unexamined. */
	struct wire_thread *self = bytes <= INT64_MAX / 2 ? enter_unmarked(jobs, is_noted) : NULL;
	const struct map_call m = { at, bytes, prot, flags, fd };
	struct event_mapping e;
	void *mapped;

	if (UNLIKELY(!self))
		return plain_mmap(at, bytes, prot, flags, fd, offset);
	if (!event_may_map(jobs, self, &m, is_noted, &e))
		return MAP_FAILED;
	mapped = real.mmap(at, bytes, prot, flags, fd, offset);
	event_mapped(jobs, &m, mapped, &e);
	return mapped;
}

DEFINE_HOOKS(void *, mmap, (void *at, size_t bytes, int prot, int flags, int fd, off_t offset), at,
	bytes, prot, flags, fd, offset)

ALSO(mmap64, mmap);

/* ---- munmap ---- */

static SLOW int
plain_munmap(void *at, size_t bytes)
{
	if (real.munmap)
		return real.munmap(at, bytes);
	return sys_failed(sys_call(SYS_munmap, at, bytes)) ? -1 : 0;
}

INLINE int
munmap_for(unsigned int jobs, uintptr_t caller, void *at, size_t bytes)
{
	const bool is_noted = jobs & JOB_SAMPLE && is_programs(caller);
	struct wire_thread *self = enter_unmarked(jobs, is_noted);
	struct event_mapping e;
	int failed;

	if (UNLIKELY(!self))
		return plain_munmap(at, bytes);
	event_unmapping(jobs, self, at, bytes, is_noted, &e);
	failed = real.munmap(at, bytes);
	event_unmapped(jobs, at, bytes, failed, &e);
	return failed;
}

DEFINE_HOOKS(int, munmap, (void *at, size_t bytes), at, bytes)

/* ---- mremap ---- */

INLINE void *
mremap_for(unsigned int jobs, uintptr_t caller, const struct remap_call *r)
{
	const bool is_noted = jobs & JOB_SAMPLE && is_programs(caller);
	struct wire_thread *self = r->want <= INT64_MAX / 2 ? enter_unmarked(jobs, is_noted) : NULL;
	struct event_remap e;
	void *mapped;

	if (UNLIKELY(!self)) {
		if (real.mremap)
			return real.mremap(r->old, r->had, r->want, r->flags, r->to);
		return MAP_FAILED;
	}
	if (!event_may_remap(jobs, self, r, is_noted, &e))
		return MAP_FAILED;
	mapped = real.mremap(r->old, r->had, r->want, r->flags, r->to);
	event_remapped(jobs, r, mapped, &e);
	return mapped;
}

/* With MREMAP_DONTUNMAP the address is only a hint (mm/mremap.c). */
#define READ_REMAP(r, old, had, want, flags)                                                       \
	struct remap_call r = { old, had, want, flags, NULL };                                     \
	va_list ap;                                                                                \
                                                                                                   \
	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) {                                           \
		va_start(ap, flags);                                                               \
		r.to = va_arg(ap, void *);                                                         \
		va_end(ap);                                                                        \
	}

void *
mremap_sampled(void *old, size_t had, size_t want, int flags, ...)
{
	READ_REMAP(r, old, had, want, flags)
	return mremap_for(JOB_SAMPLE, CALLER, &r);
}

void *
mremap_both(void *old, size_t had, size_t want, int flags, ...)
{
	READ_REMAP(r, old, had, want, flags)
	return mremap_for(JOB_COUNT | JOB_SAMPLE, CALLER, &r);
}

EXPORT void *
mremap(void *old, size_t had, size_t want, int flags, ...)
{
	READ_REMAP(r, old, had, want, flags)
	if (is_sampled())
		return mode_counts() ? mremap_for(JOB_COUNT | JOB_SAMPLE, CALLER, &r)
				     : mremap_for(JOB_SAMPLE, CALLER, &r);
	return mremap_for(JOB_COUNT, 0, &r);
}
#undef READ_REMAP

/* ---- mprotect ---- */

/* The key that makes pkey_mprotect() equal to mprotect(). */
#define NO_PKEY (-1)

static int
real_mprotect(void *at, size_t bytes, int prot, int pkey)
{
	long failed;

	if (pkey != NO_PKEY && real.pkey_mprotect)
		return real.pkey_mprotect(at, bytes, prot, pkey);
	if (pkey == NO_PKEY && real.mprotect)
		return real.mprotect(at, bytes, prot);
	failed = sys_call(SYS_pkey_mprotect, at, bytes, prot, pkey);
	if (sys_failed(failed) && early_is_over())
		errno = (int)-failed;
	return sys_failed(failed) ? -1 : 0;
}

/*
 * The error of a failed mprotect().  In a static program the agent cannot find errno, but at a hole
 * the error is ENOMEM.
 */
static SLOW int
error_of_protect(void)
{
	return agent_is_static ? ENOMEM : errno;
}

INLINE int
pkey_mprotect_for(unsigned int jobs, uintptr_t caller, void *at, size_t bytes, int prot, int pkey)
{
	const bool is_noted = jobs & JOB_SAMPLE && is_programs(caller);
	struct wire_thread *self = enter_unmarked(jobs, is_noted);
	struct event_mapping e;
	int failed, error;

	if (UNLIKELY(!self))
		return real_mprotect(at, bytes, prot, pkey);
	if (!event_may_protect(jobs, self, at, bytes, prot, &e))
		return -1;
	failed = real_mprotect(at, bytes, prot, pkey);
	error = UNLIKELY(failed) ? error_of_protect() : 0;
	event_protected(jobs, self, at, bytes, prot, error, is_noted, &e);
	return failed;
}

INLINE int
mprotect_for(unsigned int jobs, uintptr_t caller, void *at, size_t bytes, int prot)
{
	return pkey_mprotect_for(jobs, caller, at, bytes, prot, NO_PKEY);
}

DEFINE_HOOKS(int, mprotect, (void *at, size_t bytes, int prot), at, bytes, prot)
DEFINE_HOOKS(
	int, pkey_mprotect, (void *at, size_t bytes, int prot, int pkey), at, bytes, prot, pkey)
#undef DEFINE_HOOKS
#undef CALLER
