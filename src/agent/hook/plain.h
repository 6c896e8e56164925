/*
 * plain: malloc and related functions without an event.
 */
#ifndef MEMDIAG_AGENT_HOOK_PLAIN_H
#define MEMDIAG_AGENT_HOOK_PLAIN_H

#include <stddef.h>

#include "agent/base/compiler.h"

#pragma GCC visibility push(hidden)

/* Do as the real functions; before they are found, take memory from early.c. */
SLOW void *plain_alloc(size_t alignment, size_t size);
SLOW void plain_free(void *block);
SLOW void *plain_calloc(size_t nr, size_t size);
SLOW void *plain_realloc(void *old, size_t size);
SLOW int plain_posix_memalign(void **ret, size_t alignment, size_t size);

#pragma GCC visibility pop

#endif
