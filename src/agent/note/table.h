/*
 * table: the site and the size of each recorded block, by its address, like shadow.h: slower,
 * but with memory for what is live alone, 13 to 35 bytes a block, however large the heap is.
 *
 * The table is made of levels.  Each has buckets of ten blocks, two cache lines; a block may be in
 * two buckets of any level, and is never moved.  New blocks go to the last level, or where there is
 * room in an earlier one; else there is another level, twice as large.  No lock: an address
 * belongs to one thread at a time.
 */
#ifndef MEMDIAG_AGENT_NOTE_TABLE_H
#define MEMDIAG_AGENT_NOTE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/live-set.h"
#include "wire/wire.h"

#pragma GCC visibility push(hidden)

/*
 * Get ready, empty, with no more than LIMIT_BYTES of addresses.  Not in a hook: nothing below makes
 * a system call.  False: there is no room.
 */
bool table_begin(uint64_t limit_bytes);

/*
 * Keep BLOCK, of BYTES and of SITE, which is not 0.  It is not there.  False: there is no memory
 * for it.
 */
bool table_put(const void *block, uint32_t site, uint64_t bytes);
/* Take BLOCK out.  Returns its site; 0: it is not there. */
uint32_t table_take(const void *block, uint64_t *ret_bytes);
/* All levels, one behind the other, and how many are used; for live-set.c. */
extern struct wire_bucket *table_buckets;
extern uint32_t table_nr_levels;
/* Forget all blocks, and give the memory back; nobody else is at it. */
void table_forget(void);

#pragma GCC visibility pop

#endif
