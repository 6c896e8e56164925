/*
 * others: extra functions of mallocs other than glibc's.  In a process that ran already, the
 * beginnings of these and of all other functions of such a malloc jump to hooks.  The hooks find
 * the active jobs at run time (mode.c).
 *
 * A function that only calls others in the list needs no hook, and a function that a hook's real
 * function calls is not an event (agent_enter()).
 */
#include <config.h>

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "agent/base/compiler.h"
#include "agent/base/mode.h"
#include "agent/base/real.h"
#include "agent/base/state.h"
#include "agent/hook/agent.h"
#include "agent/hook/block-hooks.h"
#include "agent/hook/others.h"

static struct {
	/* jemalloc (doc/jemalloc.xml, "Non-standard API"; 4.x to 5.3) */
	void *(*mallocx)(size_t, int);
	void *(*rallocx)(void *, size_t, int);
	size_t (*xallocx)(void *, size_t, size_t, int);
	void (*dallocx)(void *, int);
	void (*sdallocx)(void *, size_t, int);
	/*
	 * tcmalloc (gperftools/tcmalloc.h, 2.x); its other names are aliases of the usual functions
	 */
	void *(*tc_malloc_skip_new_handler)(size_t);
	/* mimalloc (include/mimalloc.h, 1.x and 2.x) */
	void *(*mi_zalloc)(size_t);
	void *(*mi_malloc_small)(size_t);
	void *(*mi_zalloc_small)(size_t);
	void *(*mi_new_nothrow)(size_t);
	void *(*mi_mallocn)(size_t, size_t);
	void *(*mi_malloc_aligned)(size_t, size_t);
	void *(*mi_zalloc_aligned)(size_t, size_t);
	void *(*mi_new_aligned_nothrow)(size_t, size_t);
	void *(*mi_malloc_aligned_at)(size_t, size_t, size_t);
	void *(*mi_zalloc_aligned_at)(size_t, size_t, size_t);
	void *(*mi_calloc_aligned)(size_t, size_t, size_t);
	void *(*mi_calloc_aligned_at)(size_t, size_t, size_t, size_t);
} other;

/* ---- active jobs ---- */

/* Call NAME##_for for the active jobs. */
#define BY_JOBS(name, ...)                                                                         \
	do {                                                                                       \
		if (agent_mode < AGENT_SAMPLES)                                                    \
			return name##_for(JOB_COUNT, __VA_ARGS__);                                 \
		if (agent_mode < AGENT_RECORDS && mode_counts())                                   \
			return name##_for(JOB_COUNT | JOB_SAMPLE, __VA_ARGS__);                    \
		if (agent_mode < AGENT_RECORDS)                                                    \
			return name##_for(JOB_SAMPLE, __VA_ARGS__);                                \
		if (mode_counts())                                                                 \
			return name##_for(JOB_COUNT | JOB_RECORD, __VA_ARGS__);                    \
		return name##_for(JOB_RECORD, __VA_ARGS__);                                        \
	} while (0)

/* ---- functions that return a block of BYTES ---- */

#define TAKES(name, bytes, parameters, ...)                                                        \
	INLINE void *name##_for parameters                                                         \
	{                                                                                          \
		struct wire_thread *self = agent_enter();                                          \
		struct event_block e;                                                              \
		void *block = NULL;                                                                \
                                                                                                   \
		if (UNLIKELY(!self))                                                               \
			return other.name(__VA_ARGS__);                                            \
		if (UNLIKELY((bytes) > BLOCK_MAX))                                                 \
			block = other.name(__VA_ARGS__);                                           \
		else if (LIKELY(event_may_take(jobs, self, (bytes), &e)))                          \
			block = event_taken(jobs, self, other.name(__VA_ARGS__), (bytes), &e);     \
		agent_leave();                                                                     \
		return block;                                                                      \
	}

#define JOBS unsigned int jobs

#define TAKES_SIZE(name)                                                                           \
	TAKES(name, size, (JOBS, size_t size), size)                                               \
	static void *hook_##name(size_t size)                                                      \
	{                                                                                          \
		BY_JOBS(name, size);                                                               \
	}
TAKES_SIZE(tc_malloc_skip_new_handler)
TAKES_SIZE(mi_zalloc)
TAKES_SIZE(mi_malloc_small)
TAKES_SIZE(mi_zalloc_small)
TAKES_SIZE(mi_new_nothrow)

#define TAKES_ALIGNED(name)                                                                        \
	TAKES(name, size, (JOBS, size_t size, size_t alignment), size, alignment)                  \
	static void *hook_##name(size_t size, size_t alignment)                                    \
	{                                                                                          \
		BY_JOBS(name, size, alignment);                                                    \
	}
TAKES_ALIGNED(mi_malloc_aligned)
TAKES_ALIGNED(mi_zalloc_aligned)
TAKES_ALIGNED(mi_new_aligned_nothrow)

#define TAKES_ALIGNED_AT(name)                                                                     \
	TAKES(name, size, (JOBS, size_t size, size_t alignment, size_t offset), size, alignment,   \
		offset)                                                                            \
	static void *hook_##name(size_t size, size_t alignment, size_t offset)                     \
	{                                                                                          \
		BY_JOBS(name, size, alignment, offset);                                            \
	}
TAKES_ALIGNED_AT(mi_malloc_aligned_at)
TAKES_ALIGNED_AT(mi_zalloc_aligned_at)

TAKES(mallocx, size, (JOBS, size_t size, int flags), size, flags)
static void *
hook_mallocx(size_t size, int flags)
{
	BY_JOBS(mallocx, size, flags);
}

/* NR times SIZE; a size that every malloc refuses if the product overflows. */
static inline size_t
product(size_t nr, size_t size)
{
	return __builtin_mul_overflow(nr, size, &size) ? SIZE_MAX : size;
}

TAKES(mi_mallocn, product(nr, size), (JOBS, size_t nr, size_t size), nr, size)
static void *
hook_mi_mallocn(size_t nr, size_t size)
{
	BY_JOBS(mi_mallocn, nr, size);
}

TAKES(mi_calloc_aligned, product(nr, size), (JOBS, size_t nr, size_t size, size_t alignment), nr,
	size, alignment)
static void *
hook_mi_calloc_aligned(size_t nr, size_t size, size_t alignment)
{
	BY_JOBS(mi_calloc_aligned, nr, size, alignment);
}

TAKES(mi_calloc_aligned_at, product(nr, size),
	(JOBS, size_t nr, size_t size, size_t alignment, size_t offset), nr, size, alignment,
	offset)
static void *
hook_mi_calloc_aligned_at(size_t nr, size_t size, size_t alignment, size_t offset)
{
	BY_JOBS(mi_calloc_aligned_at, nr, size, alignment, offset);
}

/* ---- functions that take a block ---- */

INLINE void
dallocx_for(unsigned int jobs, void *block, int flags)
{
	struct wire_thread *self = agent_enter();
	struct event_block e;

	if (UNLIKELY(!self)) {
		other.dallocx(block, flags);
		return;
	}
	block = event_giving(jobs, self, block, &e);
	other.dallocx(block, flags);
	event_given(jobs, self, &e);
	agent_leave();
}

static void
hook_dallocx(void *block, int flags)
{
	BY_JOBS(dallocx, block, flags);
}

INLINE void
sdallocx_for(unsigned int jobs, void *block, size_t size, int flags)
{
	struct wire_thread *self = agent_enter();
	struct event_block e;

	if (UNLIKELY(!self)) {
		other.sdallocx(block, size, flags);
		return;
	}
	block = event_giving(jobs, self, block, &e);
	other.sdallocx(block, size, flags);
	event_given(jobs, self, &e);
	agent_leave();
}

static void
hook_sdallocx(void *block, size_t size, int flags)
{
	BY_JOBS(sdallocx, block, size, flags);
}

/* As realloc() without a limit; SIZE is not 0. */
INLINE void *
rallocx_for(unsigned int jobs, void *old, size_t size, int flags)
{
	struct wire_thread *self = agent_enter();
	struct event_resize e;
	void *block = NULL;

	if (UNLIKELY(!self))
		return other.rallocx(old, size, flags);
	if (UNLIKELY(size > BLOCK_MAX))
		block = other.rallocx(old, size, flags);
	else if (LIKELY(event_may_resize(jobs, self, old, size, &e)))
		block = event_resized(jobs, self, old, other.rallocx(old, size, flags), size, &e);
	agent_leave();
	return block;
}

static void *
hook_rallocx(void *old, size_t size, int flags)
{
	BY_JOBS(rallocx, old, size, flags);
}

/* The block stays at its address.  The sampler and the recorder keep its old size. */
static size_t
hook_xallocx(void *block, size_t size, size_t extra, int flags)
{
	struct wire_thread *self = agent_enter();
	int64_t was, now;
	size_t usable;

	if (!self)
		return other.xallocx(block, size, extra, flags);
	was = (int64_t)block_usable(block);
	usable = other.xallocx(block, size, extra, flags);
	now = (int64_t)block_usable(block);
	if (mode_counts() && now > was)
		count_take(self, now - was);
	if (mode_counts() && now < was) {
		count_give(self, was - now);
		count_freed(self, was - now);
	}
	agent_leave();
	return usable;
}

/* ---- for memdiag ---- */

#define AT(function) ((uintptr_t)(function))
#define HOOK(name)                                                                                 \
	{                                                                                          \
#name, AT(hook_##name), AT(&other.name)                                            \
	}
#define USUAL(name)                                                                                \
	{                                                                                          \
#name, AT(name), AT(&real.name)                                                    \
	}
/* The operators call real.malloc and so on. */
#define OPERATOR_HOOK(name) { #name, AT(name), AT(&unused_real) },

/* clang-format off: one line each */
#define DECLARE(name) void name(void);
REAL_OPERATORS(DECLARE)
static uint64_t unused_real;

const struct wire_other_hook others_hooks[WIRE_MAX_OTHERS] = {
	USUAL(malloc),
	USUAL(free),
	USUAL(calloc),
	USUAL(realloc),
	USUAL(memalign),
	USUAL(aligned_alloc),
	USUAL(posix_memalign),
	USUAL(valloc),
	USUAL(pvalloc),
	REAL_OPERATORS(OPERATOR_HOOK) HOOK(mallocx),
	HOOK(rallocx),
	HOOK(xallocx),
	HOOK(dallocx),
	HOOK(sdallocx),
	HOOK(tc_malloc_skip_new_handler),
	HOOK(mi_zalloc),
	HOOK(mi_malloc_small),
	HOOK(mi_zalloc_small),
	HOOK(mi_new_nothrow),
	HOOK(mi_mallocn),
	HOOK(mi_malloc_aligned),
	HOOK(mi_zalloc_aligned),
	HOOK(mi_new_aligned_nothrow),
	HOOK(mi_malloc_aligned_at),
	HOOK(mi_zalloc_aligned_at),
	HOOK(mi_calloc_aligned),
	HOOK(mi_calloc_aligned_at),
};
/* clang-format on */
