/*
 * sampled: the live blocks that have been sampled, by their addresses.  A block that is freed is
 * looked for in a filter first, which nearly all that were not sampled pass with one load.
 *
 * The table is made of levels.  Each has buckets of eight addresses, a cache line; an address may
 * be in its one bucket of any level, so nothing is ever moved, and what is removed leaves no trace.
 * A bucket that is full sends the block to the next level, which is four times as large and made
 * when it is needed.  No lock: an address belongs to one thread at a time.
 */
#ifndef MEMDIAG_AGENT_NOTE_SAMPLED_H
#define MEMDIAG_AGENT_NOTE_SAMPLED_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/sites.h"
#include "wire/wire.h"

#pragma GCC visibility push(hidden)

struct sampled_block {
	struct wire_amount amount; /* what it stands for */
	uint32_t site;
	uint32_t place;	      /* which thread's it is, as a number in the segment */
	uint64_t clock_bytes; /* what that thread had allocated when it got the block */
};

/* How many of the blocks there are of each kind; 255: more than were counted. */
#define SAMPLED_FILTER_BYTES 65536
extern unsigned char sampled_filter[SAMPLED_FILTER_BYTES];

static inline uint32_t
sampled_kind(const void *block)
{
	const uintptr_t at = (uintptr_t)block >> 4;

	return (uint32_t)(at ^ at >> 16) % SAMPLED_FILTER_BYTES;
}

/* Whether it has to be looked for. */
static inline bool
sampled_may_have(const void *block)
{
	return __atomic_load_n(&sampled_filter[sampled_kind(block)], __ATOMIC_RELAXED);
}

/* Keep BLOCK, which is not there.  False: there is no memory for it. */
bool sampled_add(const void *block, const struct sampled_block *what);
/* Take it out again.  False: it is not there. */
bool sampled_remove(const void *block, struct sampled_block *ret);
/* Forget all of them: nobody else is at it. */
void sampled_forget(void);
/* They are not to take more than BYTES, after sampled_forget(). */
void sampled_limit(uint64_t bytes);
#pragma GCC visibility pop

#endif
