/*
 * early: blocks from before there was a malloc.
 */
#ifndef MEMDIAG_AGENT_BASE_EARLY_H
#define MEMDIAG_AGENT_BASE_EARLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

#define EARLY_BYTES 65536
extern unsigned char early_pool[EARLY_BYTES];

/* Whether ld.so has come to this object, so that it can call others. */
bool early_is_over(void);
/* NULL when there is no more. */
void *early_alloc(size_t alignment, size_t size);
size_t early_size(const void *block);
/* Copy the content of OLD to the block TO of SIZE bytes. */
void early_copy(void *to, const void *old, size_t size);
/* They look like chunks of glibc with a mapping of their own: such are never freed in a hurry. */

static inline bool
early_has(const void *block)
{
	return (uintptr_t)block - (uintptr_t)early_pool < EARLY_BYTES;
}

#pragma GCC visibility pop

#endif
