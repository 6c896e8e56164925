#include <config.h>

#include "agent/note/shadow.h"

#include "agent/base/memory.h"
#include "agent/base/segment.h"
#include "agent/base/sys.h"

uint32_t **shadow_table[SHADOW_TABLES];

/* ---- memory for tables and leaves ---- */

/*
 * Memory is taken in large pieces, of which only the used pages take memory.  If addresses are
 * limited, a piece is small.
 */
struct shadow_piece {
	struct shadow_piece *next;
	uint64_t bytes, used_bytes; /* size, and bytes used from its start; USED may be larger */
};
static struct shadow_piece *pieces; /* the newest first; the others are full */
#define PIECE_BYTES (UINT64_C(16) << 20)
#define PIECE_PART 256 /* part of the limit */
#define LEAST_PIECE_BYTES (UINT64_C(1) << 20)
#define PIECE_HEAD_BYTES 4096

#define LEAF_BYTES WIRE_SHADOW_LEAF_BYTES
#define TABLE_BYTES (SHADOW_LEAVES * sizeof(uint32_t *))

/* Set before the first hook: later, a filter may not allow the question for the limit. */
static uint64_t piece_bytes = LEAST_PIECE_BYTES;

static void
set_piece_bytes(void)
{
	const uint64_t part = segment_address_limit() / PIECE_PART;

	piece_bytes = part > PIECE_BYTES   ? PIECE_BYTES
		: part > LEAST_PIECE_BYTES ? part & ~UINT64_C(4095)
					   : LEAST_PIECE_BYTES;
}

/* Add another piece in front of WAS.  False if no memory is available. */
static bool
shadow_add_piece(struct shadow_piece *was)
{
	const uint64_t bytes = piece_bytes;
	struct shadow_piece *new = memory_map(-1, 0, bytes);

	if (!new)
		return false;
	*new = (struct shadow_piece){ was, bytes, PIECE_HEAD_BYTES };
	if (__atomic_compare_exchange_n(
		    &pieces, &was, new, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		memory_note(WIRE_MEMORY_LIVE_SET, new, bytes);
	else
		sys_call(SYS_munmap, new, bytes); /* another thread has added one */
	return true;
}

static uint64_t limit_bytes = UINT64_MAX, taken_bytes;

void
shadow_limit(uint64_t bytes)
{
	limit_bytes = bytes;
	set_piece_bytes();
}

/* False if BYTES more would exceed the limit. */
static bool
may_take(uint64_t bytes)
{
	if (limit_bytes == UINT64_MAX)
		return true;
	/* Checked first, as this is called for each block that has no room. */
	if (__atomic_load_n(&taken_bytes, __ATOMIC_RELAXED) + bytes > limit_bytes)
		return false;
	if (__atomic_add_fetch(&taken_bytes, bytes, __ATOMIC_RELAXED) <= limit_bytes)
		return true;
	__atomic_sub_fetch(&taken_bytes, bytes, __ATOMIC_RELAXED);
	return false;
}

/* Return BYTES of zeroes. */
static void *
shadow_take_bytes(uint64_t bytes)
{
	if (!may_take(bytes))
		return NULL;
	for (;;) {
		struct shadow_piece *p = __atomic_load_n(&pieces, __ATOMIC_ACQUIRE);
		const uint64_t at =
			p ? __atomic_fetch_add(&p->used_bytes, bytes, __ATOMIC_RELAXED) : 0;

		if (p && at + bytes <= p->bytes)
			return (char *)p + at;
		if (!shadow_add_piece(p))
			return NULL;
	}
}

void
shadow_forget(void)
{
	struct shadow_piece *p = pieces;

	taken_bytes = 0;
	if (!p)
		return;
	for (uint64_t i = 0; i < SHADOW_TABLES; i++)
		shadow_table[i] = NULL;
	/*
	 * The first piece is used again.  The others are needed only when as many blocks exist
	 * again.
	 */
	while (p->next) {
		pieces = p->next;
		memory_forget(p);
		sys_call(SYS_munmap, p, p->bytes);
		p = pieces;
	}
	memory_clear((char *)p + PIECE_HEAD_BYTES,
		(p->used_bytes < p->bytes ? p->used_bytes : p->bytes) - PIECE_HEAD_BYTES);
	p->used_bytes = PIECE_HEAD_BYTES;
}

/* ---- tables and leaves ---- */

/* Store NEW in SLOT unless another thread has stored a value there.  Returns the value in SLOT. */
static void *
put_once(void *slot, void *new)
{
	void *was = NULL;

	return __atomic_compare_exchange_n(
		       (void **)slot, &was, new, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)
		? new
		: was;
}

static uint32_t *
make_leaf(uintptr_t at)
{
	uint32_t ***const root = &shadow_table[at >> SHADOW_TABLE_BITS];
	uint32_t **table = __atomic_load_n(root, __ATOMIC_ACQUIRE), **slot, *leaf;

	if (!table) {
		table = shadow_take_bytes(TABLE_BYTES);
		table = table ? put_once(root, table) : NULL;
	}
	if (!table)
		return NULL;
	slot = &table[at >> SHADOW_LEAF_BITS & (SHADOW_LEAVES - 1)];
	leaf = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
	if (!leaf) {
		leaf = shadow_take_bytes(LEAF_BYTES);
		leaf = leaf ? put_once(slot, leaf) : NULL;
	}
	return leaf;
}

uint32_t *
shadow_make(const void *block)
{
	const uintptr_t at = (uintptr_t)block, next = at + (UINT64_C(1) << SHADOW_LEAF_BITS);

	if (at >> SHADOW_ADDRESS_BITS || !make_leaf(at))
		return NULL;
	if (!(next >> SHADOW_ADDRESS_BITS))
		make_leaf(next);
	return shadow_words(block);
}

void
shadow_prepare(const void *start, uint64_t bytes)
{
	const uintptr_t end = (uintptr_t)start + bytes;

	for (uintptr_t at = (uintptr_t)start; at < end && !(at >> SHADOW_ADDRESS_BITS);
		at += UINT64_C(1) << SHADOW_LEAF_BITS)
		if (!make_leaf(at))
			return;
}
