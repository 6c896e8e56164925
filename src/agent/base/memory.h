/*
 * memory: a list of what the sampler has mapped (wire/memory.h), which memdiag reads.
 */
#ifndef MEMDIAG_AGENT_BASE_MEMORY_H
#define MEMDIAG_AGENT_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "wire/memory.h"
#include "wire/wire.h"

#pragma GCC visibility push(hidden)

/*
 * BYTES of zeroes, of the file FD from OFFSET on or, if that is less than 0, of nobody else's.
 * They take memory only where they are used, also in a process that locks what it will map
 * (mlockall()), and no large pages.  NULL: there is no room.
 */
void *memory_map(long fd, uint64_t offset, size_t bytes);
/* Make BYTES at START zeroes again, which take no memory unless the process has locked them. */
void memory_clear(void *start, size_t bytes);
/*
 * Make the whole pages of BYTES at START, which are unused variables, take no memory before their
 * first use, also in a process that locked them when it mapped the agent (mlockall()).
 */
void memory_unlock(void *start, size_t bytes);

/* BYTES at START are used from now on; noted already, nothing changes. */
void memory_note(enum wire_memory_kind kind, const void *start, size_t bytes);
/* The mapping that begins at START is about to be unmapped. */
void memory_forget(const void *start);

#pragma GCC visibility pop

#endif
