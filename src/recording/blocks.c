#include <config.h>

#include "recording/blocks.h"

#include <stdlib.h>

static size_t
blocks_place(const struct blocks *b, uint64_t address)
{
	/* Fibonacci hashing: blocks are 16 bytes apart, so the low bits hardly differ. */
	return (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (b->room - 1);
}

static struct block *
blocks_find(const struct blocks *b, uint64_t address)
{
	size_t at = blocks_place(b, address);

	while (b->v[at].address && b->v[at].address != address)
		at = (at + 1) & (b->room - 1);
	return &b->v[at];
}

static int
blocks_grow(struct blocks *b)
{
	struct blocks bigger = { .nr = b->nr, .room = b->room ? 2 * b->room : 1024 };

	bigger.v = calloc(bigger.room, sizeof *bigger.v);
	if (!bigger.v)
		return -1;
	for (size_t i = 0; i < b->room; i++)
		if (b->v[i].address)
			*blocks_find(&bigger, b->v[i].address) = b->v[i];
	free(b->v);
	*b = bigger;
	return 0;
}

int
blocks_put(struct blocks *b, struct block block)
{
	struct block *there;

	if (2 * (b->nr + 1) > b->room && blocks_grow(b) < 0)
		return -1;
	there = blocks_find(b, block.address);
	b->nr += !there->address;
	*there = block;
	return 0;
}

/* Close the gap at AT: blocks after it may only be found through it. */
static void
close_gap(struct blocks *b, size_t at)
{
	size_t mask = b->room - 1;

	for (size_t next = (at + 1) & mask; b->v[next].address; next = (next + 1) & mask) {
		size_t wanted = blocks_place(b, b->v[next].address);

		if (((next - wanted) & mask) >= ((next - at) & mask)) {
			b->v[at] = b->v[next];
			at = next;
		}
	}
	b->v[at].address = 0;
}

bool
blocks_take(struct blocks *b, uint64_t address, struct block *ret)
{
	struct block *there = b->nr && address ? blocks_find(b, address) : NULL;

	if (!there || !there->address)
		return false;
	*ret = *there;
	close_gap(b, (size_t)(there - b->v));
	b->nr--;
	return true;
}

void
blocks_release(struct blocks *b)
{
	free(b->v);
	*b = (struct blocks){ 0 };
}
