/*
 * hooks: malloc and related functions, as the program calls them by name.
 */
#include <config.h>

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "agent/base/compiler.h"
#include "agent/base/early.h"
#include "agent/base/mode.h"
#include "agent/base/real.h"
#include "agent/base/settings.h"
#include "agent/base/state.h"
#include "agent/hook/agent.h"
#include "agent/hook/block-hooks.h"
#include "agent/hook/sampling.h"
#include "wire/wire.h"

/* ---- malloc ---- */

static __attribute__((noinline)) void *
malloc_guarded(size_t size)
{
	return malloc_guarded_for(JOB_COUNT, size);
}

/*
 * The quick path for the most frequent calls.  It omits checks that a plain glibc makes
 * unnecessary, as glibc's malloc calls no hook.  Only the real function is called, so few registers
 * must be saved.  A thread without a place takes the slow path.
 */
INLINE void *
malloc_quickly_for(unsigned int jobs, void *(*slowly)(size_t), size_t size)
{
	struct wire_thread *self = agent_self.place;

	if (UNLIKELY(!self))
		return slowly(size);
	return event_taken(jobs, self, real.malloc(event_asked(jobs, size)), size, NULL);
}

static __attribute__((noinline)) void *
malloc_requested(size_t size)
{
	if (UNLIKELY(size > BLOCK_MAX))
		return malloc_guarded(size);
	return malloc_quickly_for(JOB_COUNT_REQUESTED, malloc_guarded, size);
}

/* Handle the modes in which nothing is counted, samples are taken, or all blocks are recorded. */
static __attribute__((noinline)) void *
malloc_otherwise(size_t size)
{
	switch ((unsigned int)agent_mode) {
	case AGENT_QUICK | AGENT_SAMPLES:
		return malloc_quickly_for(JOB_COUNT_QUICKLY | JOB_SAMPLE, malloc_both_slowly, size);
	case AGENT_UNCOUNTED | AGENT_SAMPLES:
		return malloc_sampled(size);
	case AGENT_UNCOUNTED_GUARDED | AGENT_SAMPLES:
		return malloc_sampled_slowly(size);
	case AGENT_UNCOUNTED:
	case AGENT_UNCOUNTED_GUARDED:
		return plain_alloc(0, size);
	case AGENT_QUICK | AGENT_RECORDS:
		return malloc_quickly_for(JOB_COUNT_QUICKLY | JOB_RECORD, malloc_all_slowly, size);
	case AGENT_UNCOUNTED | AGENT_RECORDS:
		return malloc_quickly_for(JOB_RECORD, malloc_recorded_slowly, size);
	case AGENT_UNCOUNTED_GUARDED | AGENT_RECORDS:
		return malloc_recorded_slowly(size);
	}
	return agent_mode < AGENT_RECORDS ? malloc_both_slowly(size) : malloc_all_slowly(size);
}

EXPORT void *
malloc(size_t size)
{
	const enum agent_mode mode = agent_mode;

	if (LIKELY(mode == AGENT_QUICK))
		return malloc_quickly_for(JOB_COUNT_QUICKLY, malloc_guarded, size);
	if (mode == AGENT_QUICK_REQUESTED)
		return malloc_requested(size);
	return mode <= AGENT_GUARDED ? malloc_guarded(size) : malloc_otherwise(size);
}

/* ---- free ---- */

static __attribute__((noinline)) void
free_guarded(void *block)
{
	free_guarded_for(JOB_COUNT, block);
}

INLINE void
free_quickly_for(unsigned int jobs, void (*slowly)(void *), void *block)
{
	struct wire_thread *self = agent_self.place;

	if (UNLIKELY(!self || chunk_is_mmapped(block))) {
		slowly(block);
		return;
	}
	block = event_giving(jobs, self, block, NULL);
	real.free(block);
}

static __attribute__((noinline)) void
free_requested(void *block)
{
	free_quickly_for(JOB_COUNT_REQUESTED, free_guarded, block);
}

static __attribute__((noinline)) void
free_otherwise(void *block)
{
	switch ((unsigned int)agent_mode) {
	case AGENT_QUICK | AGENT_SAMPLES:
		free_quickly_for(JOB_COUNT_QUICKLY | JOB_SAMPLE, free_both_slowly, block);
		return;
	case AGENT_UNCOUNTED | AGENT_SAMPLES:
	case AGENT_UNCOUNTED_GUARDED | AGENT_SAMPLES:
		if (!early_has(block))
			free_sampled(block);
		return;
	case AGENT_UNCOUNTED:
	case AGENT_UNCOUNTED_GUARDED:
		plain_free(block);
		return;
	case AGENT_QUICK | AGENT_RECORDS:
		free_quickly_for(JOB_COUNT_QUICKLY | JOB_RECORD, free_all_slowly, block);
		return;
	case AGENT_UNCOUNTED | AGENT_RECORDS:
		free_quickly_for(JOB_RECORD, free_recorded_slowly, block);
		return;
	case AGENT_UNCOUNTED_GUARDED | AGENT_RECORDS:
		free_recorded_slowly(block);
		return;
	}
	if (agent_mode < AGENT_RECORDS)
		free_both_slowly(block);
	else
		free_all_slowly(block);
}

EXPORT void
free(void *block)
{
	const enum agent_mode mode = agent_mode;

	if (UNLIKELY(!block))
		return;
	if (LIKELY(mode == AGENT_QUICK))
		free_quickly_for(JOB_COUNT_QUICKLY, free_guarded, block);
	else if (mode == AGENT_QUICK_REQUESTED)
		free_requested(block);
	else if (mode <= AGENT_GUARDED)
		free_guarded(block);
	else
		free_otherwise(block);
}

/* ---- calloc ---- */

/* True if agent_mode is one of the modes of malloc_otherwise(). */
static inline bool
is_otherwise(void)
{
	return UNLIKELY(agent_mode >= AGENT_UNCOUNTED);
}

/*
 * Define the function NAME for all other modes.  PLAIN is called if nothing is counted or recorded.
 */
#define DEFINE_OTHERWISE(type, name, plain, parameters, arguments)                                 \
	static __attribute__((noinline)) type name##_otherwise parameters                          \
	{                                                                                          \
		if (agent_mode < AGENT_SAMPLES)                                                    \
			return plain arguments;                                                    \
		if (agent_mode < AGENT_RECORDS)                                                    \
			return mode_counts() ? name##_both arguments : name##_sampled arguments;   \
		return mode_counts() ? name##_all arguments : name##_recorded arguments;           \
	}
DEFINE_OTHERWISE(void *, calloc, plain_calloc, (size_t nr, size_t size), (nr, size))
DEFINE_OTHERWISE(void *, realloc, plain_realloc, (void *old, size_t size), (old, size))
DEFINE_OTHERWISE(
	void *, memalign, real.memalign, (size_t alignment, size_t size), (alignment, size))
DEFINE_OTHERWISE(void *, aligned_alloc, real.aligned_alloc, (size_t alignment, size_t size),
	(alignment, size))
DEFINE_OTHERWISE(int, posix_memalign, plain_posix_memalign,
	(void **ret, size_t alignment, size_t size), (ret, alignment, size))
DEFINE_OTHERWISE(void *, valloc, real.valloc, (size_t size), (size))
DEFINE_OTHERWISE(void *, pvalloc, real.pvalloc, (size_t size), (size))
#undef DEFINE_OTHERWISE

EXPORT void *
calloc(size_t nr, size_t size)
{
	return is_otherwise() ? calloc_otherwise(nr, size) : calloc_for(JOB_COUNT, nr, size);
}

/* ---- realloc ---- */

static SLOW void *
early_realloc(void *old, size_t size)
{
	void *block = size ? malloc(size) : NULL;

	if (block)
		early_copy(block, old, size);
	return block;
}

EXPORT void *
realloc(void *old, size_t size)
{
	if (!old)
		return malloc(size);
	if (UNLIKELY(early_has(old)))
		return early_realloc(old, size);
	return is_otherwise() ? realloc_otherwise(old, size) : realloc_for(JOB_COUNT, old, size);
}

/* Call this before the search for objects that precede the agent. */
static SLOW void
hooks_get_ready(void)
{
	if (agent_enter_slowly())
		agent_leave();
}

/*
 * As in libc, the first realloc() in the search order does the work: not every malloc has
 * reallocarray().
 */
EXPORT void *
reallocarray(void *old, size_t nr, size_t size)
{
	if (__builtin_mul_overflow(nr, size, &size)) {
		errno = ENOMEM;
		return NULL;
	}
	if (UNLIKELY(!real.malloc))
		hooks_get_ready();
	return real.front_realloc ? real.front_realloc(old, size) : realloc(old, size);
}

/* ---- aligned blocks ---- */

static __attribute__((noinline)) void *
aligned(void *(*function)(size_t, size_t), size_t alignment, size_t size)
{
	return aligned_for(JOB_COUNT, function, alignment, size);
}

EXPORT void *
memalign(size_t alignment, size_t size)
{
	return is_otherwise() ? memalign_otherwise(alignment, size)
			      : aligned(real.memalign, alignment, size);
}

EXPORT void *
aligned_alloc(size_t alignment, size_t size)
{
	return is_otherwise() ? aligned_alloc_otherwise(alignment, size)
			      : aligned(real.aligned_alloc, alignment, size);
}

/* posix_memalign() does not report failures in errno; only the agent's limit changes errno. */
EXPORT int
posix_memalign(void **ret, size_t alignment, size_t size)
{
	const bool may_refuse = settings.limit_bytes != INT64_MAX;
	const int saved_errno = may_refuse ? errno : 0;
	const int failed = is_otherwise() ? posix_memalign_otherwise(ret, alignment, size)
					  : posix_memalign_for(JOB_COUNT, ret, alignment, size);

	if (may_refuse)
		errno = saved_errno;
	return failed;
}

static void *
real_valloc(size_t alignment, size_t size)
{
	(void)alignment;
	return real.valloc(size);
}

static void *
real_pvalloc(size_t alignment, size_t size)
{
	(void)alignment;
	return real.pvalloc(size);
}

EXPORT void *
valloc(size_t size)
{
	return is_otherwise() ? valloc_otherwise(size) : aligned(real_valloc, 4096, size);
}

EXPORT void *
pvalloc(size_t size)
{
	return is_otherwise() ? pvalloc_otherwise(size) : aligned(real_pvalloc, 4096, size);
}

/* ---- sizes of blocks, and other names ---- */

EXPORT size_t
malloc_usable_size(void *block)
{
	if (!block)
		return 0;
	if (early_has(block))
		return early_size(block);
	if (!real.malloc_usable_size)
		return 0;
	return agent_mode != AGENT_OFF && block_has_tail() ? (size_t)block_counted(block, false)
							   : real.malloc_usable_size(block);
}

static void
free_by_first(void *block)
{
	if (UNLIKELY(!real.malloc))
		hooks_get_ready();
	if (real.front_free)
		real.front_free(block);
	else
		free(block);
}

/* These functions are in C23, and in glibc since 2.43. */
EXPORT void free_sized(void *block, size_t size);
EXPORT void
free_sized(void *block, size_t size)
{
	(void)size;
	free_by_first(block);
}

EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size);
EXPORT void
free_aligned_sized(void *block, size_t alignment, size_t size)
{
	(void)alignment;
	(void)size;
	free_by_first(block);
}

ALSO(cfree, free);

/*
 * Libraries call libc's own malloc by these names.  If the next malloc is another one, the calls
 * bypass the agent: that malloc may call these names from inside a hook (libc_malloc_debug.so
 * does).
 */
#define OR_LIBC(name, ...)                                                                         \
	(real_is_glibc || !real.libc_##name ? name : real.libc_##name)(__VA_ARGS__)

EXPORT void *__libc_malloc(size_t size);
EXPORT void *
__libc_malloc(size_t size)
{
	return OR_LIBC(malloc, size);
}

EXPORT void __libc_free(void *block);
EXPORT void
__libc_free(void *block)
{
	OR_LIBC(free, block);
}

EXPORT void *__libc_calloc(size_t nr, size_t size);
EXPORT void *
__libc_calloc(size_t nr, size_t size)
{
	return OR_LIBC(calloc, nr, size);
}

EXPORT void *__libc_realloc(void *old, size_t size);
EXPORT void *
__libc_realloc(void *old, size_t size)
{
	return OR_LIBC(realloc, old, size);
}

EXPORT void *__libc_memalign(size_t alignment, size_t size);
EXPORT void *
__libc_memalign(size_t alignment, size_t size)
{
	return OR_LIBC(memalign, alignment, size);
}

EXPORT void *__libc_valloc(size_t size);
EXPORT void *
__libc_valloc(size_t size)
{
	return OR_LIBC(valloc, size);
}

EXPORT void *__libc_pvalloc(size_t size);
EXPORT void *
__libc_pvalloc(size_t size)
{
	return OR_LIBC(pvalloc, size);
}
