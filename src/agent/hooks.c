/*
 * hooks: malloc and its kin.  Each does what the real one does, and counts.  What a block counts for
 * is taken before it is asked for, and given back after it is freed: so never less is counted than
 * there is.
 */
#include <config.h>

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "agent/agent.h"
#include "agent/block.h"
#include "agent/count.h"

/* ---- what they share ---- */

/*
 * The block has become ACTUAL bytes instead of the TAKEN.  False: those do not fit, and it was freed.
 */
static SLOW bool
settle(struct wire_thread *self, void *block, int64_t taken, int64_t actual)
{
	if (actual < taken) {
		count_give(self, taken - actual);
		return true;
	}
	if (count_take(self, actual - taken))
		return true;
	real.free(block);
	count_give(self, taken);
	limit_reached(self, (size_t)actual);
	return false;
}

static SLOW void *
fail(struct wire_thread *self, int64_t taken)
{
	count_give(self, taken);
	return NULL;
}

/* BLOCK is what the real one made of SIZE, for which TAKEN are counted. */
static inline void *
hand_out(struct wire_thread *self, void *block, size_t size, int64_t taken)
{
	int64_t actual;

	if (UNLIKELY(!block))
		return fail(self, taken);
	if (block_has_tail()) {
		block_set(block, size);
	} else {
		actual = (int64_t)block_usable(block);
		if (UNLIKELY(actual != taken) && !settle(self, block, taken, actual))
			return NULL;
	}
	count_block(self, &self->nr_allocated);
	return block;
}

/* Count SIZE before it is asked for: *RET_TAKEN, or false when it does not fit. */
static inline bool
ask(struct wire_thread *self, size_t size, int64_t *ret_taken)
{
	*ret_taken = block_least(size);
	if (LIKELY(count_take(self, *ret_taken)))
		return true;
	limit_reached(self, size);
	return false;
}

static SLOW void *
plain_alloc(size_t alignment, size_t size)
{
	if (!real.malloc)
		return early_alloc(alignment, size);
	return alignment ? real.memalign(alignment, size) : real.malloc(size);
}

/* ---- one block ---- */

static __attribute__((noinline)) void *
malloc_guarded(size_t size)
{
	struct wire_thread *self = agent_enter();
	void *block = NULL;
	int64_t taken;

	if (UNLIKELY(!self))
		return plain_alloc(0, size);
	if (UNLIKELY(size > BLOCK_MAX))
		block = real.malloc(size);
	else if (LIKELY(ask(self, size, &taken)))
		block = hand_out(self, real.malloc(block_asked(size)), size, taken);
	agent_leave();
	return block;
}

/*
 * What most programs do most, without the questions that need not be asked of a plain glibc.  Where
 * there is no limit what a block counts for may as well be seen when it is there.
 */
EXPORT void *
malloc(size_t size)
{
	enum agent_mode mode = agent_mode;
	struct wire_thread *self;
	void *block;

	if (UNLIKELY(mode != AGENT_QUICK && mode != AGENT_QUICK_REQUESTED))
		return malloc_guarded(size);
	self = agent_self.place;
	if (UNLIKELY(!self || self->is_inside || size > BLOCK_MAX))
		return malloc_guarded(size);
	if (LIKELY(mode == AGENT_QUICK)) {
		block = real.malloc(size);
		if (UNLIKELY(!block))
			return NULL;
		count_add(self, (int64_t)block_usable(block));
	} else {
		block = real.malloc(size + BLOCK_TAIL);
		if (UNLIKELY(!block))
			return NULL;
		block_set(block, size);
		count_add(self, (int64_t)size);
	}
	self->nr_allocated++;
	return block;
}

static SLOW void
plain_free(void *block)
{
	if (real.free && !early_has(block))
		real.free(block);
}

static __attribute__((noinline)) void
free_guarded(void *block)
{
	struct wire_thread *self = agent_enter();
	int64_t counted;

	if (UNLIKELY(!self)) {
		plain_free(block);
		return;
	}
	if (LIKELY(!early_has(block))) {
		counted = block_counted(block, true);
		real.free(block);
		count_give(self, counted);
		count_block(self, &self->nr_freed);
	}
	agent_leave();
}

EXPORT void
free(void *block)
{
	struct wire_thread *self;
	int64_t counted;

	if (UNLIKELY(!block))
		return;
	if (UNLIKELY(agent_mode != AGENT_QUICK && agent_mode != AGENT_QUICK_REQUESTED)) {
		free_guarded(block);
		return;
	}
	self = agent_self.place;
	if (UNLIKELY(!self || self->is_inside || chunk_is_mmapped(block))) {
		free_guarded(block);
		return;
	}
	counted = LIKELY(agent_mode == AGENT_QUICK) ? (int64_t)chunk_usable(block)
						    : block_counted(block, true);
	real.free(block);
	count_subtract(self, counted);
	self->nr_freed++;
}

static SLOW void *
plain_calloc(size_t nr, size_t size)
{
	if (real.calloc)
		return real.calloc(nr, size);
	/* The pool is zero. */
	return __builtin_mul_overflow(nr, size, &size) ? NULL : early_alloc(0, size);
}

EXPORT void *
calloc(size_t nr, size_t size)
{
	struct wire_thread *self = agent_enter();
	void *block = NULL;
	size_t bytes;
	int64_t taken;

	if (UNLIKELY(!self))
		return plain_calloc(nr, size);
	if (UNLIKELY(__builtin_mul_overflow(nr, size, &bytes) || bytes > BLOCK_MAX))
		block = real.calloc(nr, size);
	else if (LIKELY(ask(self, bytes, &taken)))
		block = hand_out(self, real.calloc(1, block_asked(bytes)), bytes, taken);
	agent_leave();
	return block;
}

/* ---- realloc ---- */

static bool
has_limit(void)
{
	return settings.limit_bytes != INT64_MAX;
}

/*
 * With malloc, so that what the new block counts for is known before the old one is gone.  *RET is
 * NULL when it does not fit or there is no memory.
 */
static SLOW void *
move(struct wire_thread *self, void *old, int64_t was, size_t size)
{
	void *block = real.malloc(size);
	int64_t actual = block ? (int64_t)block_usable(block) : 0;

	if (!block)
		return NULL;
	if (actual > was && !count_take(self, actual - was)) {
		real.free(block);
		limit_reached(self, size);
		return NULL;
	}
	memcpy(block, old, (size_t)(actual < was ? actual : was));
	real.free(old);
	if (actual < was)
		count_give(self, was - actual);
	return block;
}

/* The most that a block of SIZE may count for after realloc() by glibc. */
static int64_t
most_after(size_t size)
{
	return (int64_t)(block_has_tail() ? size : block_least_usable(size) + BLOCK_MAX_ROUNDING);
}

static inline void *
resize(struct wire_thread *self, void *old, size_t size)
{
	int64_t was = block_counted(old, false), more = most_after(size) - was, actual;
	size_t room = block_usable(old);
	void *block;

	if (more < 0)
		more = 0;
	/* How far another malloc rounds up is not known before. */
	if (UNLIKELY(!real_has_headers && has_limit() && !block_has_tail() && size))
		return move(self, old, was, size);
	if (UNLIKELY(!count_take(self, more))) {
		if (!block_has_tail())
			return move(self, old, was, size);
		limit_reached(self, size);
		return NULL;
	}
	/* realloc(block, 0) frees it, and would not with a tail; of some mallocs it does not. */
	block = real.realloc(old, size ? block_asked(size) : 0);
	if (!block) {
		count_give(self, size ? more : was + more);
		if (!size)
			count_block(self, &self->nr_freed);
		return NULL;
	}
	/* As MemTracer: a block that gives nothing back counts for what it did. */
	if (settings.is_memtracer && (int64_t)size < was && size && block_usable(block) == room)
		size = (size_t)was;
	if (block_has_tail() && block_usable(block) >= BLOCK_TAIL)
		block_set(block, size);
	actual = block_counted(block, false);
	if (LIKELY(actual <= was + more))
		count_give(self, was + more - actual);
	else
		count_take(self, actual - was - more);	/* there is no limit then */
	return block;
}

static SLOW void *
early_realloc(void *old, size_t size)
{
	void *block = size ? malloc(size) : NULL;

	if (block)
		early_copy(block, old, size);
	return block;
}

static SLOW void *
plain_realloc(void *old, size_t size)
{
	return real.realloc ? real.realloc(old, size) : plain_alloc(0, size);
}

EXPORT void *
realloc(void *old, size_t size)
{
	struct wire_thread *self;
	void *block;

	if (!old)
		return malloc(size);
	if (UNLIKELY(early_has(old)))
		return early_realloc(old, size);
	self = agent_enter();
	if (UNLIKELY(!self))
		return plain_realloc(old, size);
	block = UNLIKELY(size > BLOCK_MAX) ? real.realloc(old, size) : resize(self, old, size);
	agent_leave();
	return block;
}

/* Before it is asked who is in front of us. */
static SLOW void
get_ready(void)
{
	if (agent_enter_slowly())
		agent_leave();
}

/* As in libc, whoever's realloc() comes first does it: not every malloc has this. */
EXPORT void *
reallocarray(void *old, size_t nr, size_t size)
{
	if (__builtin_mul_overflow(nr, size, &size)) {
		errno = ENOMEM;
		return NULL;
	}
	if (UNLIKELY(!real.malloc))
		get_ready();
	return real.front_realloc ? real.front_realloc(old, size) : realloc(old, size);
}

/* ---- aligned blocks ---- */

static void *
aligned(void *(*function)(size_t, size_t), size_t alignment, size_t size)
{
	struct wire_thread *self = agent_enter();
	void *block = NULL;
	int64_t taken;

	if (UNLIKELY(!self))
		return real.malloc ? function(alignment, size) : early_alloc(alignment, size);
	if (UNLIKELY(size > BLOCK_MAX))
		block = function(alignment, size);
	else if (LIKELY(ask(self, size, &taken)))
		block = hand_out(self, function(alignment, block_asked(size)), size, taken);
	agent_leave();
	return block;
}

EXPORT void *
memalign(size_t alignment, size_t size)
{
	return aligned(real.memalign, alignment, size);
}

EXPORT void *
aligned_alloc(size_t alignment, size_t size)
{
	return aligned(real.aligned_alloc, alignment, size);
}

static SLOW int
early_posix_memalign(void **ret, size_t alignment, size_t size)
{
	void *block = early_alloc(alignment, size);

	if (!block)
		return ENOMEM;
	*ret = block;
	return 0;
}

EXPORT int
posix_memalign(void **ret, size_t alignment, size_t size)
{
	struct wire_thread *self = agent_enter();
	int saved_errno, failed = ENOMEM;
	void *block = NULL;
	int64_t taken;

	if (UNLIKELY(!self))
		return real.posix_memalign ? real.posix_memalign(ret, alignment, size)
					   : early_posix_memalign(ret, alignment, size);
	/* Only a limit of ours changes it. */
	saved_errno = has_limit() ? errno : 0;
	if (UNLIKELY(size > BLOCK_MAX)) {
		failed = real.posix_memalign(ret, alignment, size);
	} else if (LIKELY(ask(self, size, &taken))) {
		failed = real.posix_memalign(&block, alignment, block_asked(size));
		block = hand_out(self, failed ? NULL : block, size, taken);
		if (block)
			*ret = block;
		else if (!failed)
			failed = ENOMEM;
	}
	agent_leave();
	if (has_limit())
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
	return aligned(real_valloc, 4096, size);
}

EXPORT void *
pvalloc(size_t size)
{
	return aligned(real_pvalloc, 4096, size);
}

/* ---- questions, and other names ---- */

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
		get_ready();
	if (real.front_free)
		real.front_free(block);
	else
		free(block);
}

/* C23; in glibc since 2.43. */
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
 * By these names libraries call libc's own.  Where that is not what is behind us, they lead past us:
 * what is there may come by them from the inside of a hook (libc_malloc_debug.so does).
 */
#define OR_LIBC(name, ...) (real_is_glibc || !real.libc_##name ? name : real.libc_##name)(__VA_ARGS__)

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

/* ---- fork by another name ---- */

/*
 * Unlike fork() it calls none of the functions that pthread_atfork() knows (2.34).  In a process that ran
 * already fork() comes here, too, and has called them.
 */
EXPORT pid_t _Fork(void);
EXPORT pid_t
_Fork(void)
{
	bool is_counted = agent_mode != AGENT_OFF && !agent_self.is_forking;
	pid_t pid;

	if (!real._Fork) {
		errno = ENOSYS;
		return -1;
	}
	if (is_counted)
		segment_before_fork();
	pid = real._Fork();
	if (is_counted && pid == 0)
		segment_in_child();
	else if (is_counted)
		segment_in_parent();
	return pid;
}
