/*
 * shadow: the site and the size of each recorded block, by address: four bytes for each sixteen of
 * a heap.  No hash and no lock are needed: a block belongs to one thread at a time, and glibc's
 * chunks have at least 32 bytes (MINSIZE, malloc/malloc.c), so that each has two separate words.
 *
 *	address  | table | leaf of it | word of that | 0..15 |
 *	bits       14      14           16             4
 *
 *	words of a leaf:  | site | bytes |                    a block
 *	                  | site | UINT32_MAX | low | high |  one of 4 GiB and more
 *
 * A leaf covers 1 MiB of addresses.  It is created, together with the next leaf, when the first
 * block in it is recorded.  So a program that forbids itself further system calls, and whose heap
 * then cannot grow, usually has all leaves that it needs.  The words of a block are zero unless the
 * block is live and recorded.
 */
#ifndef MEMDIAG_AGENT_NOTE_SHADOW_H
#define MEMDIAG_AGENT_NOTE_SHADOW_H

#include <stddef.h>
#include <stdint.h>

#include "agent/base/compiler.h"
#include "wire/live-set.h"

#pragma GCC visibility push(hidden)

#define SHADOW_ADDRESS_BITS WIRE_SHADOW_ADDRESS_BITS
#define SHADOW_TABLE_BITS WIRE_SHADOW_TABLE_BITS
#define SHADOW_LEAF_BITS WIRE_SHADOW_LEAF_BITS
#define SHADOW_WORD_BITS WIRE_SHADOW_WORD_BITS
#define SHADOW_TABLES WIRE_SHADOW_TABLES
#define SHADOW_LEAVES WIRE_SHADOW_LEAVES
#define SHADOW_WORDS WIRE_SHADOW_WORDS

extern uint32_t **shadow_table[SHADOW_TABLES]; /* memdiag also reads it */

/*
 * Limit the words of all blocks to BYTES; UINT64_MAX: unlimited.  Call this before the first block
 * is recorded, never in a hook.
 */
void shadow_limit(uint64_t bytes);
/* Remove all blocks.  No other thread may use the table. */
void shadow_forget(void);
/* The words at BLOCK, in a leaf that is created if needed; NULL if no memory is available. */
SLOW uint32_t *shadow_make(const void *block);

/*
 * Create the leaves for BYTES at START of a heap, as far as memory is available.  Memory that is
 * freed there may be given to small blocks when system calls are no longer allowed.
 */
SLOW void shadow_prepare(const void *start, uint64_t bytes);

/* The words of BLOCK; NULL if no block near it was recorded. */
static inline uint32_t *
shadow_words(const void *block)
{
	const uintptr_t at = (uintptr_t)block;
	uint32_t **table, *leaf;

	if (UNLIKELY(at >> SHADOW_ADDRESS_BITS))
		return NULL;
	table = __atomic_load_n(&shadow_table[at >> SHADOW_TABLE_BITS], __ATOMIC_ACQUIRE);
	if (UNLIKELY(!table))
		return NULL;
	leaf = __atomic_load_n(
		&table[at >> SHADOW_LEAF_BITS & (SHADOW_LEAVES - 1)], __ATOMIC_ACQUIRE);
	if (UNLIKELY(!leaf))
		return NULL;
	return leaf + (at >> SHADOW_WORD_BITS & (SHADOW_WORDS - 1));
}

/* Record that the block with WORDS has BYTES and belongs to SITE, which is not 0. */
static inline void
shadow_set(uint32_t *words, uint32_t site, uint64_t bytes)
{
	words[1] = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
	if (UNLIKELY(bytes >= UINT32_MAX)) {
		words[2] = (uint32_t)bytes;
		words[3] = (uint32_t)(bytes >> 32);
	}
	words[0] = site;
}

/* Remove the block with WORDS.  Returns its site; 0 if it was not recorded. */
static inline uint32_t
shadow_take(uint32_t *words, uint64_t *ret_bytes)
{
	const uint32_t site = words[0];

	if (UNLIKELY(!site))
		return 0;
	*ret_bytes = words[1];
	if (UNLIKELY(words[1] == UINT32_MAX)) {
		*ret_bytes = words[2] | (uint64_t)words[3] << 32;
		words[2] = words[3] = 0;
	}
	/* All words are cleared, as the next block may begin at the second one. */
	words[0] = words[1] = 0;
	return site;
}

#pragma GCC visibility pop

#endif
