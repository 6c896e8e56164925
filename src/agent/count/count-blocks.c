#include <config.h>

#include "agent/count/count-blocks.h"

#include <string.h>

/* ---- taken ---- */

void *
count_not_taken(struct wire_thread *self, int64_t taken)
{
	count_give(self, taken);
	return NULL;
}

void *
count_settle(struct wire_thread *self, void *block, int64_t taken)
{
	const int64_t actual = (int64_t)block_usable(block);

	if (actual < taken) {
		count_give(self, taken - actual);
		return block;
	}
	if (count_take(self, actual - taken))
		return block;
	real.free(block);
	count_give(self, taken);
	limit_reached(self, (size_t)actual);
	return NULL;
}

/* ---- resized ---- */

void *
count_move(struct wire_thread *self, void *old, size_t size, const struct count_resize *r)
{
	const int64_t was = r->was_bytes;
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
	if (actual < was) {
		count_give(self, was - actual);
		count_freed(self, was - actual);
	}
	return block;
}

/* ---- the slow part of the quick paths ---- */

void *
count_taken_slowly(struct wire_thread *self, void *block)
{
	if (block) {
		count_add(self, (int64_t)block_usable(block));
		self->nr_allocated++;
	}
	return block;
}

__attribute__((noinline)) void *
count_giving_slowly(struct wire_thread *self, void *block, int64_t bytes)
{
	count_subtract(self, bytes);
	self->freed_bytes += (uint64_t)bytes;
	self->nr_freed++;
	return block;
}
