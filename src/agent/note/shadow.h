/*
 * shadow: the site and the size of each recorded block, by its address: four bytes for each sixteen
 * of a heap.  No hash and no lock: a block belongs to one thread at a time, and glibc's chunks are
 * 32 bytes at least (MINSIZE, malloc/malloc.c), so that each has two of these words to itself.
 *
 *	address  | table | leaf of it | word of that | 0..15 |
 *	bits       14      14           16             4
 *
 *	words of a leaf:  | site | bytes |                    a block
 *	                  | site | UINT32_MAX | low | high |  one of 4 GiB and more
 *
 * A leaf is for 1 MiB of addresses, and made when the first block in them is recorded, together
 * with the next one: so a program that lets itself make no more system calls, and whose heap cannot
 * grow then, mostly has what it needs.  The words of a block are zero unless it is live and
 * recorded.
 */
#ifndef MEMDIAG_AGENT_NOTE_SHADOW_H
#define MEMDIAG_AGENT_NOTE_SHADOW_H

#include <stddef.h>
#include <stdint.h>

#include "agent/base/compiler.h"
#include "wire/live-set.h"
#include "wire/wire.h"

#pragma GCC visibility push(hidden)

#define SHADOW_ADDRESS_BITS WIRE_SHADOW_ADDRESS_BITS
#define SHADOW_TABLE_BITS WIRE_SHADOW_TABLE_BITS
#define SHADOW_LEAF_BITS WIRE_SHADOW_LEAF_BITS
#define SHADOW_WORD_BITS WIRE_SHADOW_WORD_BITS
#define SHADOW_TABLES WIRE_SHADOW_TABLES
#define SHADOW_LEAVES WIRE_SHADOW_LEAVES
#define SHADOW_WORDS WIRE_SHADOW_WORDS

extern uint32_t **shadow_table[SHADOW_TABLES]; /* memdiag reads it, too */

/*
 * Take no more than BYTES for the words of all blocks; UINT64_MAX: any number.  Before the first
 * one, and not in a hook.
 */
void shadow_limit(uint64_t bytes);
/* Forget all blocks; nobody else is at it. */
void shadow_forget(void);
/* The words at BLOCK in a leaf that is made if need be; NULL: there is no memory for one. */
SLOW uint32_t *shadow_make(const void *block);

/*
 * Make the leaves of BYTES at START, of a heap: what is freed there may be given to small blocks
 * when no more system calls are allowed.  As far as there is memory.
 */
SLOW void shadow_prepare(const void *start, uint64_t bytes);

/* The words of BLOCK; NULL: nothing near it was recorded. */
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

/* Note that the block with WORDS has BYTES and is of SITE, which is not 0. */
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

/* Take the block with WORDS out.  Returns its site; 0: it was not recorded. */
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
	/* All of them, as the next block may begin where the second one is. */
	words[0] = words[1] = 0;
	return site;
}

#pragma GCC visibility pop

#endif
