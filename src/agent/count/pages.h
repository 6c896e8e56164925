/*
 * pages: which pages of the address space the program has mapped, and which of them count.
 *
 * Each page has four bits in a table that follows the addresses.  A change is one atomic
 * instruction for sixteen pages, and a range that covers whole units is recorded in their tags.  So
 * a cancelled thread cannot keep a lock, and the time does not depend on the number of mappings.
 *
 * A page belongs to one thread at a time, since the kernel assigns addresses: call pages_leave()
 * before the kernel gets a page back, and pages_put() after the kernel has assigned it.
 */
#ifndef MEMDIAG_AGENT_COUNT_PAGES_H
#define MEMDIAG_AGENT_COUNT_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/mapping.h"

/*
 * Keep the unused part of the table from taking memory before its first use, also in a process that
 * locks its memory.
 */
void pages_unlock(void);

/*
 * The functions below take the range [START, END), whose last page may count in part.  They return
 * the change in the sum of counted bytes.  Pages above the table count for nothing.
 */

/* Set the state of a new range to STATE. */
int64_t pages_put(uintptr_t start, uintptr_t end, enum page_state state);
/* Mark a range as about to be unmapped. */
int64_t pages_leave(uintptr_t start, uintptr_t end);
/* Restore a range that was marked by pages_leave() and not unmapped. */
int64_t pages_stay(uintptr_t start, uintptr_t end);
/* Remove the pages that are still marked by pages_leave(): they were unmapped. */
void pages_forget(uintptr_t start, uintptr_t end);
/* Set the protection of the range to PROT.  With IS_TRIAL, only compute the change. */
int64_t pages_protect(uintptr_t start, uintptr_t end, int prot, bool is_trial);

/*
 * The state of the page at AT; 0 if unknown. *RET_NEXT is the next page below END that may have
 * another state.
 */
unsigned int pages_state(uintptr_t at, uintptr_t end, uintptr_t *ret_next);

#endif
