/*
 * block: how many bytes a block counts for.
 *
 * Usable bytes are what the chunk has room for.  Requested bytes are kept in the last word of the
 * block, for which 8 more are asked of malloc, so that no pointer is moved and alignment stays:
 *
 *	block -> +------------------------------+
 *	         | the program's bytes ...      |   requested
 *	         | nothing                      |   as malloc rounds up
 *	         | requested | check of address |   48 and 16 bits
 *	         +------------------------------+   block + usable
 *
 * A block that the agent did not allocate (a library that finds libc's malloc by itself did) has no
 * such word, and its usable bytes count.
 */
#ifndef MEMDIAG_AGENT_BASE_BLOCK_H
#define MEMDIAG_AGENT_BASE_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/base/compiler.h"
#include "agent/base/real.h"
#include "agent/base/settings.h"
#include "agent/base/state.h"
#include "wire/wire.h"

/* Every malloc refuses a larger size (PTRDIFF_MAX), and the additions here would overflow. */
#define BLOCK_MAX ((size_t)1 << 46)
#define BLOCK_TAIL sizeof(uint64_t)
/* Flags of a chunk, in the word before the block (malloc/malloc.c). */
#define CHUNK_FLAGS ((size_t)7)
#define CHUNK_IS_MMAPPED ((size_t)2)
/*
 * The most that malloc rounds up: pvalloc() rounds to a page, a separate mapping to another page,
 * and a small size to the smallest chunk.
 */
#define BLOCK_MAX_ROUNDING (2 * agent_page_bytes + 64)

static inline bool
chunk_is_mmapped(const void *block)
{
	return ((const size_t *)block)[-1] & CHUNK_IS_MMAPPED;
}

/* The usable size of a chunk that is not mmapped.  Its last word is in the next chunk. */
static inline size_t
chunk_usable(const void *block)
{
	return (((const size_t *)block)[-1] & ~CHUNK_FLAGS) - sizeof(size_t);
}

/* The least usable size of a block from glibc's malloc(SIZE): request2size() there. */
static inline size_t
chunk_least_usable(size_t size)
{
	return size <= 24 ? 24 : ((size + 8 + 15) & ~(size_t)15) - 8;
}

static inline size_t
block_usable(void *block)
{
	if (LIKELY(real_has_headers) && LIKELY(!chunk_is_mmapped(block)))
		return chunk_usable(block);
	return real.malloc_usable_size(block);
}

static inline size_t
block_least_usable(size_t size)
{
	return LIKELY(real_has_headers) ? chunk_least_usable(size) : size;
}

static inline bool
block_has_tail(void)
{
	return settings.account == WIRE_REQUESTED;
}

static inline uint64_t
block_check(const void *block)
{
	return ((uint64_t)(uintptr_t)block * UINT64_C(0x9e3779b97f4a7c15)) >> 48 << 48;
}

/* The size to request from malloc for a block of SIZE. */
static inline size_t
block_asked(size_t size)
{
	return block_has_tail() ? size + BLOCK_TAIL : size;
}

/* The least number of bytes that a block of SIZE counts for. */
static inline int64_t
block_least(size_t size)
{
	return (int64_t)(block_has_tail() ? size : block_least_usable(size));
}

static inline void
block_set_tail(void *block, size_t usable, uint64_t tail)
{
	memcpy((char *)block + usable - BLOCK_TAIL, &tail, sizeof tail);
}

/* Record that BLOCK counts for SIZE. */
static inline void
block_set(void *block, size_t size)
{
	block_set_tail(block, block_usable(block), size | block_check(block));
}

/*
 * The bytes that BLOCK counts for.  With IS_LAST, BLOCK is about to be freed, and its record is
 * cleared.
 */
static inline int64_t
block_counted(void *block, bool is_last)
{
	size_t usable = block_usable(block);
	uint64_t tail;

	if (!block_has_tail() || usable < BLOCK_TAIL)
		return (int64_t)usable;
	memcpy(&tail, (char *)block + usable - BLOCK_TAIL, sizeof tail);
	tail ^= block_check(block);
	/* The check of 16 bits alone might match by chance. */
	if (tail > usable - BLOCK_TAIL ||
		(real_has_headers && usable - tail > BLOCK_TAIL + BLOCK_MAX_ROUNDING))
		return (int64_t)usable;
	if (is_last)
		block_set_tail(block, usable, 0);
	return (int64_t)tail;
}

#endif
