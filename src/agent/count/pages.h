/*
 * pages: which pages of the address space the program has mapped, and which of them count.
 *
 * Each page has four bits in a table that follows the addresses.  A change is one atomic
 * instruction for sixteen pages, and a range that covers whole units is noted in their tags.  So
 * there is no lock that a cancelled thread could keep, and nothing gets slower with the number of
 * mappings.
 *
 * A page belongs to one thread at a time, as the kernel hands addresses out: leave it before the
 * kernel gets it back, put it after the kernel has given it.
 */
#ifndef MEMDIAG_AGENT_COUNT_PAGES_H
#define MEMDIAG_AGENT_COUNT_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/mapping.h"

/*
 * Keep the unused table from taking memory before its first use, also in a process that locks its
 * memory.
 */
void pages_unlock(void);

/*
 * The others take the range [START, END), of which the last page may be counted in part, and return
 * by how many bytes the sum of what counts has changed.  Pages above the table count for nothing.
 */

/* The range is new, and in this STATE. */
int64_t pages_put(uintptr_t start, uintptr_t end, enum page_state state);
/* The entry is about to be removed with its mapping. */
int64_t pages_leave(uintptr_t start, uintptr_t end);
/* It was not unmapped after all. */
int64_t pages_stay(uintptr_t start, uintptr_t end);
/* It was: what still leaves is forgotten. */
void pages_forget(uintptr_t start, uintptr_t end);
/* It has the protection PROT.  With IS_TRIAL nothing is changed. */
int64_t pages_protect(uintptr_t start, uintptr_t end, int prot, bool is_trial);

/*
 * The state of the page at AT, 0 if it is unknown, and where below END the next begins that may
 * have another.
 */
unsigned int pages_state(uintptr_t at, uintptr_t end, uintptr_t *ret_next);

#endif
