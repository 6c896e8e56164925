/*
 * live: the hooks of a process that ran already when the agent was loaded.  There the beginnings of
 * libc's functions lead to them, so what libc calls inside itself comes, too.
 */
#include <config.h>

#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "agent/agent.h"
#include "agent/block.h"
#include "agent/count.h"

static void *live_malloc(size_t size);
static void live_free(void *block);
pid_t _Fork(void);	/* unistd.h of 2.34 has it */

#define HOOK(name) { #name, (uintptr_t)name, (uintptr_t)&real.name }
static struct wire_live live = {
	.magic = WIRE_LIVE_MAGIC,
	.hook = {
		{ "malloc", (uintptr_t)live_malloc, (uintptr_t)&real.malloc },
		{ "free", (uintptr_t)live_free, (uintptr_t)&real.free },
		HOOK(calloc),
		HOOK(realloc),
		HOOK(memalign),
		HOOK(aligned_alloc),
		HOOK(posix_memalign),
		HOOK(valloc),
		HOOK(pvalloc),
		HOOK(mmap),
		HOOK(munmap),
		HOOK(mremap),
		HOOK(_Fork),
		{ "malloc_usable_size", 0, (uintptr_t)&real.malloc_usable_size },
	},
};
#undef HOOK
/* For memdiag to find it by. */
extern EXPORT struct wire_live agent_live __asm__(WIRE_LIVE_SYMBOL) __attribute__((alias("live")));

size_t
live_page_bytes(void)
{
	return live.page_bytes;
}

/*
 * A thread that ends frees what its tcache holds (tcache_thread_shutdown, malloc/malloc.c, 2.26 to
 * 2.42), which the program has freed before.
 */
static inline bool
is_inner(const void *caller)
{
	return (uintptr_t)caller - live.inner_start < live.inner_bytes;
}

static SLOW void *
count_slowly(struct wire_thread *self, void *block)
{
	if (block) {
		count_add(self, (int64_t)block_usable(block));
		self->nr_allocated++;
	}
	agent_set_inside(self, false);
	return block;
}

/* All that is done for a block of a heap is to add the size that is in front of it. */
static void *
live_malloc(size_t size)
{
	struct wire_thread *self = agent_self.place;
	int64_t live;
	void *block;

	if (UNLIKELY(!self || self->is_inside))
		return malloc(size);
	agent_set_inside(self, true);
	block = real.malloc(size);
	if (UNLIKELY(!block || chunk_is_mmapped(block)))
		return count_slowly(self, block);
	live = self->live_bytes + (int64_t)chunk_usable(block);
	if (UNLIKELY(live > self->ceiling_bytes))
		return count_slowly(self, block);
	__atomic_store_n(&self->live_bytes, live, __ATOMIC_RELAXED);
	self->nr_allocated++;
	agent_set_inside(self, false);
	return block;
}

static SLOW void
free_slowly(void *block, const void *caller)
{
	struct wire_thread *self = agent_self.place;

	if (!is_inner(caller)) {
		free(block);
	} else if (!self || self->is_inside) {
		real.free(block);
	} else {
		agent_set_inside(self, true);
		real.free(block);
		agent_set_inside(self, false);
	}
}

static void
live_free(void *block)
{
	struct wire_thread *self = agent_self.place;
	int64_t live;

	if (UNLIKELY(!block))
		return;
	if (UNLIKELY(!self)) {
		free_slowly(block, __builtin_return_address(0));
		return;
	}
	live = self->live_bytes - (int64_t)chunk_usable(block);
	if (UNLIKELY(self->is_inside || chunk_is_mmapped(block) || live < self->floor_bytes ||
		    is_inner(__builtin_return_address(0)))) {
		free_slowly(block, __builtin_return_address(0));
		return;
	}
	agent_set_inside(self, true);
	__atomic_store_n(&self->live_bytes, live, __ATOMIC_RELAXED);
	self->nr_freed++;
	real.free(block);
	agent_set_inside(self, false);
}
