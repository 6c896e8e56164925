/* early: blocks that are allocated before malloc can be called. */
#ifndef MEMDIAG_AGENT_BASE_EARLY_H
#define MEMDIAG_AGENT_BASE_EARLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

#define EARLY_BYTES 65536
extern unsigned char early_pool[EARLY_BYTES];

/* True if ld.so has relocated this object, so that it can call others. */
bool early_is_over(void);
/* Return a block, or NULL if no room is left. */
void *early_alloc(size_t alignment, size_t size);
size_t early_size(const void *block);
/* Copy the content of OLD to the block TO of SIZE bytes. */
void early_copy(void *to, const void *old, size_t size);
/*
 * The blocks look like chunks of glibc with a separate mapping: no quick path of a hook frees such
 * a chunk.
 */

static inline bool
early_has(const void *block)
{
	return (uintptr_t)block - (uintptr_t)early_pool < EARLY_BYTES;
}

#pragma GCC visibility pop

#endif
