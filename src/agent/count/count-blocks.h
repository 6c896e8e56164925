/*
 * count-blocks: the counter as a job, for blocks.  The bytes of a block are added before the block
 * is allocated and subtracted after it is freed, so the count is never too small.
 *
 * Without a limit, the quick paths may add the bytes after the allocation and subtract them before
 * the free.
 */
#ifndef MEMDIAG_AGENT_COUNT_COUNT_BLOCKS_H
#define MEMDIAG_AGENT_COUNT_COUNT_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/block.h"
#include "agent/base/compiler.h"
#include "agent/base/real.h"
#include "agent/base/settings.h"
#include "agent/count/count.h"
#include "agent/count/limit.h"
#include "wire/wire.h"

/* ---- bytes ---- */

/* Count BYTES more for SELF.  False if they do not fit the limit; nothing is counted then. */
static inline bool
count_take(struct wire_thread *self, int64_t bytes)
{
	int64_t live;

	count_begin(self);
	live = self->live_bytes + bytes;
	if (UNLIKELY(live > __atomic_load_n(&self->ceiling_bytes, __ATOMIC_RELAXED))) {
		count_end(self);
		return limit_take(self, bytes);
	}
	__atomic_store_n(&self->live_bytes, live, __ATOMIC_RELAXED);
	count_end(self);
	return true;
}

/*
 * As count_take(), without a limit: grants are then never taken back, and no thread has to know
 * that this one is busy.
 */
static inline void
count_add(struct wire_thread *self, int64_t bytes)
{
	int64_t live = self->live_bytes + bytes;

	if (UNLIKELY(live > self->ceiling_bytes))
		limit_take(self, bytes);
	else
		__atomic_store_n(&self->live_bytes, live, __ATOMIC_RELAXED);
}

static inline void
count_subtract(struct wire_thread *self, int64_t bytes)
{
	int64_t live = self->live_bytes - bytes;

	if (UNLIKELY(live < self->floor_bytes))
		count_give_slowly(self, bytes);
	else
		__atomic_store_n(&self->live_bytes, live, __ATOMIC_RELAXED);
}

/* Subtract BYTES from SELF's count. */
static inline void
count_give(struct wire_thread *self, int64_t bytes)
{
	int64_t live;

	count_begin(self);
	live = self->live_bytes - bytes;
	if (UNLIKELY(live < __atomic_load_n(&self->floor_bytes, __ATOMIC_RELAXED))) {
		count_end(self);
		count_give_slowly(self, bytes);
		return;
	}
	__atomic_store_n(&self->live_bytes, live, __ATOMIC_RELAXED);
	count_end(self);
}

/* ---- blocks, with a limit or of any malloc ---- */

/*
 * BLOCK, for which TAKEN bytes are counted, has another size: correct the count.  NULL if the size
 * does not fit the limit; BLOCK was freed.
 */
SLOW void *count_settle(struct wire_thread *self, void *block, int64_t taken);

/* Count a block of SIZE before it is allocated: *RET_TAKEN bytes.  False if it does not fit. */
static inline bool
count_may_take(struct wire_thread *self, size_t size, int64_t *ret_taken)
{
	*ret_taken = block_least(size);
	if (LIKELY(count_take(self, *ret_taken)))
		return true;
	limit_reached(self, size);
	return false;
}

/* The real call returned BLOCK after count_may_take(); NULL if it failed. */
SLOW void *count_not_taken(struct wire_thread *self, int64_t taken);
static inline void *
count_taken(struct wire_thread *self, void *block, size_t size, int64_t taken)
{
	if (UNLIKELY(!block))
		return count_not_taken(self, taken);
	if (block_has_tail())
		block_set(block, size);
	else if (UNLIKELY((int64_t)block_usable(block) != taken) &&
		!count_settle(self, block, taken))
		return NULL;
	count_block(self, &self->nr_allocated);
	return block;
}

/* A block that counted for BYTES was freed. */
static inline void
count_given(struct wire_thread *self, int64_t bytes)
{
	count_give(self, bytes);
	count_freed(self, bytes);
	count_block(self, &self->nr_freed);
}

struct count_resize {
	int64_t was_bytes, more_bytes; /* counted for the old block, and added for the new one */
	size_t room_bytes;	       /* usable size of the old block */
	bool must_move;		       /* count_move() replaces realloc() */
};

/*
 * Do the work of realloc() with malloc(), so that the size that counts for the new block is known
 * before the old one is freed.  NULL if it does not fit or no memory is available.
 */
SLOW void *count_move(
	struct wire_thread *self, void *old, size_t size, const struct count_resize *r);

/* The largest number of bytes that a block of SIZE may count for after glibc's realloc(). */
static inline int64_t
count_most_after(size_t size)
{
	return (int64_t)(block_has_tail() ? size : block_least_usable(size) + BLOCK_MAX_ROUNDING);
}

/* False if the new size does not fit; errno is set. */
static inline bool
count_may_resize(struct wire_thread *self, void *old, size_t size, struct count_resize *ret)
{
	int64_t was = block_counted(old, false), more = count_most_after(size) - was;

	*ret = (struct count_resize){
		.was_bytes = was, .more_bytes = more > 0 ? more : 0, .room_bytes = block_usable(old)
	};
	/* It is not known in advance how far another malloc rounds up. */
	ret->must_move =
		!real_has_headers && settings.limit_bytes != INT64_MAX && !block_has_tail() && size;
	if (ret->must_move || LIKELY(count_take(self, ret->more_bytes)))
		return true;
	ret->must_move = !block_has_tail();
	if (!ret->must_move)
		limit_reached(self, size);
	return ret->must_move;
}

/* The real call returned BLOCK for SIZE. */
static inline void *
count_resized(struct wire_thread *self, void *block, size_t size, const struct count_resize *r)
{
	const int64_t was = r->was_bytes, taken = was + r->more_bytes;
	int64_t actual;

	if (r->must_move)
		return block; /* count_move() has already counted it */
	if (!block) {
		count_give(self, size ? r->more_bytes : taken);
		if (!size) {
			count_freed(self, was);
			count_block(self, &self->nr_freed);
		}
		return NULL;
	}
	/* As MemTracer: a block that releases no memory still counts for its old size. */
	if (settings_is_memtracer && (int64_t)size < was && size &&
		block_usable(block) == r->room_bytes)
		size = (size_t)was;
	if (block_has_tail() && block_usable(block) >= BLOCK_TAIL)
		block_set(block, size);
	actual = block_counted(block, false);
	if (actual < was)
		count_freed(self, was - actual);
	if (LIKELY(actual <= taken))
		count_give(self, taken - actual);
	else
		count_take(self, actual - taken); /* no limit is set in this case */
	return block;
}

/* ---- the quick paths ---- */

/*
 * BLOCK was allocated, and has a separate mapping or raises the peak; or BLOCK is NULL.  Returns
 * BLOCK.
 */
SLOW void *count_taken_slowly(struct wire_thread *self, void *block);
/* BLOCK, for which BYTES are counted, is about to be freed.  Returns BLOCK. */
void *count_giving_slowly(struct wire_thread *self, void *block, int64_t bytes);

static inline void *
count_taken_quickly(struct wire_thread *self, void *block)
{
	int64_t live;

	if (UNLIKELY(!block || chunk_is_mmapped(block)))
		return count_taken_slowly(self, block);
	live = self->live_bytes + (int64_t)chunk_usable(block);
	if (UNLIKELY(live > self->ceiling_bytes))
		return count_taken_slowly(self, block);
	__atomic_store_n(&self->live_bytes, live, __ATOMIC_RELAXED);
	self->nr_allocated++;
	return block;
}

static inline void *
count_taken_requested(struct wire_thread *self, void *block, size_t size)
{
	if (UNLIKELY(!block))
		return NULL;
	block_set(block, size);
	count_add(self, (int64_t)size);
	self->nr_allocated++;
	return block;
}

/* Without a limit, no other thread can take these bytes too early. */
static inline void *
count_giving_quickly(struct wire_thread *self, void *block)
{
	const int64_t live = self->live_bytes - (int64_t)chunk_usable(block);

	if (UNLIKELY(live < self->floor_bytes))
		return count_giving_slowly(self, block, (int64_t)chunk_usable(block));
	__atomic_store_n(&self->live_bytes, live, __ATOMIC_RELAXED);
	self->nr_freed++;
	self->freed_bytes += chunk_usable(block);
	return block;
}

#endif
