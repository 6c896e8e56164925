/*
 * live: the hooks of a process that ran already when the agent was loaded.  The beginnings of
 * libc's functions are patched to jump to the hooks, so these also receive calls inside libc.
 * malloc() and free() have separate hooks here; a block that is not a plain heap block is passed on
 * to the hooks of hooks.c.  If malloc is not glibc's, other hooks are used (others.c).
 */
#include <config.h>

#include "agent/hook/live.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "agent/base/compiler.h"
#include "agent/base/mode.h"
#include "agent/base/real.h"
#include "agent/base/state.h"
#include "agent/hook/agent.h"
#include "agent/hook/block-hooks.h"
#include "agent/hook/mappings.h"
#include "agent/hook/others.h"
#include "agent/hook/sampling.h"
#include "agent/note/request.h"
#include "wire/wire.h"

static struct wire_live live;
/* memdiag finds the list of hooks by this symbol. */
extern EXPORT struct wire_live agent_live __asm__(WIRE_LIVE_SYMBOL) __attribute__((alias("live")));

size_t
live_page_bytes(void)
{
	return live.page_bytes;
}

/*
 * True if CALLER frees the blocks in the tcache of a thread that ends (tcache_thread_shutdown,
 * malloc/malloc.c, 2.26 to 2.42).  The program has already freed these blocks.
 */
static inline bool
is_inner(const void *caller)
{
	return (uintptr_t)caller - live.inner_start < live.inner_bytes;
}

/* SLOWLY is the hook for all unusual cases. */
INLINE void *
malloc_for(unsigned int jobs, void *(*slowly)(size_t), size_t size)
{
	struct wire_thread *self = agent_self.place;
	void *block;

	if (UNLIKELY(!self || self->is_inside))
		return slowly(size);
	agent_set_inside(self, true);
	block = event_taken(jobs, self, real.malloc(event_asked(jobs, size)), size, NULL);
	agent_set_inside(self, false);
	return block;
}

static SLOW void
free_slowly(void (*slowly)(void *), void *block, const void *caller)
{
	struct wire_thread *self = agent_self.place;

	if (agent_is_off()) { /* a child without hooks */
		real.free(block);
	} else if (!is_inner(caller)) {
		slowly(block);
	} else if (!self || self->is_inside) {
		real.free(block);
	} else {
		agent_set_inside(self, true);
		real.free(block);
		agent_set_inside(self, false);
	}
}

INLINE void
free_for(unsigned int jobs, void (*slowly)(void *), void *block)
{
	struct wire_thread *self = agent_self.place;

	if (UNLIKELY(!block))
		return;
	if (UNLIKELY(!self || self->is_inside || chunk_is_mmapped(block) ||
		    is_inner(__builtin_return_address(0)))) {
		free_slowly(slowly, block, __builtin_return_address(0));
		return;
	}
	agent_set_inside(self, true);
	block = event_giving(jobs, self, block, NULL);
	real.free(block);
	agent_set_inside(self, false);
}

/* ---- the sets of jobs ---- */

static void *
malloc_counted(size_t size)
{
	return malloc_for(JOB_COUNT_QUICKLY, malloc, size);
}

static void
free_counted(void *block)
{
	free_for(JOB_COUNT_QUICKLY, free, block);
}

static void *
malloc_both(size_t size)
{
	return malloc_for(JOB_COUNT_QUICKLY | JOB_SAMPLE, malloc_both_slowly, size);
}

static void
free_both(void *block)
{
	free_for(JOB_COUNT_QUICKLY | JOB_SAMPLE, free_both_slowly, block);
}

static void *
malloc_recorded(size_t size)
{
	return malloc_for(JOB_RECORD, malloc_recorded_slowly, size);
}

static void
free_recorded(void *block)
{
	free_for(JOB_RECORD, free_recorded_slowly, block);
}

static void *
malloc_all(size_t size)
{
	return malloc_for(JOB_COUNT_QUICKLY | JOB_RECORD, malloc_all_slowly, size);
}

static void
free_all(void *block)
{
	free_for(JOB_COUNT_QUICKLY | JOB_RECORD, free_all_slowly, block);
}

pid_t _Fork(void); /* declared in unistd.h since glibc 2.34 */

/* clang-format off: one line each */
#define AT(function) ((uintptr_t)(function))
#define HOOK(name, counted, sampled, both, recorded, all)                                          \
	{                                                                                          \
#name,                                                                             \
			{ AT(counted), AT(sampled), AT(both), AT(recorded), AT(all) },             \
				AT(&real.name)                                                     \
	}
#define BLOCK(name) HOOK(name, name, name##_sampled, name##_both, name##_recorded, name##_all)
#define MAPPING(name) HOOK(name, name, name##_sampled, name##_both, name##_sampled, name##_both)
static struct wire_live live = {
	.magic = WIRE_LIVE_MAGIC,
	.request = AT(request_serve),
	.noting_at = AT(&agent_mode) + MODE_NOTING_AT,
	.libc_at = AT(&agent_libc),
	.hook = {
		HOOK(malloc, malloc_counted, malloc_sampled, malloc_both, malloc_recorded,
			malloc_all),
		HOOK(free, free_counted, free_sampled, free_both, free_recorded, free_all),
		BLOCK(calloc),
		BLOCK(realloc),
		BLOCK(memalign),
		BLOCK(aligned_alloc),
		BLOCK(posix_memalign),
		BLOCK(valloc),
		BLOCK(pvalloc),
		MAPPING(mmap),
		MAPPING(munmap),
		MAPPING(mremap),
		MAPPING(mprotect),
		HOOK(_Fork, _Fork, _Fork, _Fork, _Fork, _Fork),
		HOOK(malloc_usable_size, NULL, NULL, NULL, NULL, NULL),
	},
	.others = AT(others_hooks),
	.mode_at = AT(&agent_mode),
	.mode = {
		[WIRE_JOBS_COUNT] = AGENT_GUARDED,
		[WIRE_JOBS_SAMPLE] = AGENT_UNCOUNTED_GUARDED | AGENT_SAMPLES,
		[WIRE_JOBS_BOTH] = AGENT_GUARDED | AGENT_SAMPLES,
		[WIRE_JOBS_RECORD] = AGENT_UNCOUNTED_GUARDED | AGENT_RECORDS,
		[WIRE_JOBS_COUNT_AND_RECORD] = AGENT_GUARDED | AGENT_RECORDS,
	},
};
/* clang-format on */
