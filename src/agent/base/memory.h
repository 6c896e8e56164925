/* memory: the list of the sampler's mappings (wire/memory.h), which memdiag reads. */
#ifndef MEMDIAG_AGENT_BASE_MEMORY_H
#define MEMDIAG_AGENT_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "wire/memory.h"

#pragma GCC visibility push(hidden)

/*
 * Map BYTES of zeroes: from OFFSET of the file FD on or, if FD is negative, private memory.  Pages
 * take memory only when they are used, also in a process that locks its future mappings
 * (mlockall()), and huge pages are never used.  NULL if the mapping fails.
 */
void *memory_map(long fd, uint64_t offset, size_t bytes);
/*
 * Fill BYTES at START with zeroes.  The pages then take no memory unless the process has locked
 * them.
 */
void memory_clear(void *start, size_t bytes);
/*
 * Release the whole pages of BYTES at START, which hold unused variables: they take no memory
 * before their first use, even if the process locked them when it mapped the agent (mlockall()).
 */
void memory_unlock(void *start, size_t bytes);

/* Add BYTES at START to the list; no change if the list already has them. */
void memory_note(enum wire_memory_kind kind, const void *start, size_t bytes);
/* Remove the mapping that begins at START, which is about to be unmapped, from the list. */
void memory_forget(const void *start);

#pragma GCC visibility pop

#endif
