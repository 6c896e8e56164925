/*
 * sampled: the live sampled blocks, by address.  The free of a block first checks a filter, in
 * which one load is enough for nearly all blocks that were not sampled.
 *
 * The table consists of levels.  Each level has buckets of eight addresses, which is one cache
 * line.  An address has one bucket in each level and may be in any of them, so entries are never
 * moved, and a removed entry leaves no trace.  If the bucket is full, the block goes to the next
 * level, which is four times as large and is created when needed.  No lock is needed: an address
 * belongs to one thread at a time.
 */
#ifndef MEMDIAG_AGENT_NOTE_SAMPLED_H
#define MEMDIAG_AGENT_NOTE_SAMPLED_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/live-set.h"
#include "wire/sites.h"

#pragma GCC visibility push(hidden)

struct sampled_block {
	struct wire_amount amount; /* the amount that it stands for */
	uint32_t site;
	uint32_t place;	      /* index of its thread's place in the segment */
	uint64_t clock_bytes; /* bytes that its thread had allocated before */
};

/* The levels, which memdiag also reads; NULL after the last one. */
extern struct wire_sampled_bucket *sampled_level[WIRE_SAMPLED_LEVELS];

/* The number of sampled blocks of each kind; 255 or more are not counted further. */
#define SAMPLED_FILTER_BYTES 65536
extern unsigned char sampled_filter[SAMPLED_FILTER_BYTES];

static inline uint32_t
sampled_kind(const void *block)
{
	const uintptr_t at = (uintptr_t)block >> 4;

	return (uint32_t)(at ^ at >> 16) % SAMPLED_FILTER_BYTES;
}

/* False if BLOCK was certainly not sampled. */
static inline bool
sampled_may_have(const void *block)
{
	return __atomic_load_n(&sampled_filter[sampled_kind(block)], __ATOMIC_RELAXED);
}

/* Add BLOCK, which is not in the table.  False if no memory is available. */
bool sampled_add(const void *block, const struct sampled_block *what);
/* Remove BLOCK.  False if it was not in the table. */
bool sampled_remove(const void *block, struct sampled_block *ret);
/* Remove all blocks.  No other thread may use the table. */
void sampled_forget(void);
/* Limit the table to BYTES.  Call this after sampled_forget(). */
void sampled_limit(uint64_t bytes);
#pragma GCC visibility pop

#endif
