/*
 * cache-priv: what other files of unwind/ use of cache.c.
 */
#ifndef MEMDIAG_UNWIND_CACHE_PRIV_H
#define MEMDIAG_UNWIND_CACHE_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/unwind-priv.h"

#pragma GCC visibility push(hidden)

/* Look up a rule in the tables, which is slow.  GENERATION is that of the beginning of the walk. */
unwind_rule unwind_look_up(uintptr_t pc, bool is_exact, uint64_t generation);

#pragma GCC visibility pop

#endif
