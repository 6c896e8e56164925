/*
 * table: the site and the size of each recorded block, by address, like shadow.h.  It is slower,
 * but most of its memory depends on the live blocks, 13 to 35 bytes for each, not on the size of
 * the heap.
 *
 * The table consists of levels.  Each level has buckets of ten blocks, two cache lines.  A block
 * has two buckets in each level, may be in any of them, and is never moved.  A new block goes to
 * the last level, or to an earlier one that has room; otherwise a level of twice the size is added.
 * A byte for each 32 bytes of a heap, its place, says which bucket has the block that begins there.
 * No lock is needed: an address belongs to one thread at a time.
 */
#ifndef MEMDIAG_AGENT_NOTE_TABLE_H
#define MEMDIAG_AGENT_NOTE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/live-set.h"

#pragma GCC visibility push(hidden)

/*
 * Get ready with an empty table of at most LIMIT_BYTES of addresses.  Do not call this in a hook;
 * the functions below make no system call.  False if no room is available.
 */
bool table_begin(uint64_t limit_bytes);

/*
 * Add BLOCK, of BYTES and of SITE, which is not 0.  BLOCK is not in the table.  False if no memory
 * is left.
 */
bool table_put(const void *block, uint32_t site, uint64_t bytes);
/* Let the processor load what table_put() needs for BLOCK. */
void table_prefetch(const void *block);
/* Remove BLOCK.  Returns its site; 0 if it was not in the table. */
uint32_t table_take(const void *block, uint64_t *ret_bytes);
/* All levels, one after another, and the number of levels in use; for live-set.c. */
extern struct wire_bucket *table_buckets;
extern uint32_t table_nr_levels;
/* Remove all blocks, and release the memory.  No other thread may use the table. */
void table_forget(void);

#pragma GCC visibility pop

#endif
