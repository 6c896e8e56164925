/* limit: the action at the limit. */
#ifndef MEMDIAG_AGENT_COUNT_LIMIT_H
#define MEMDIAG_AGENT_COUNT_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"

#pragma GCC visibility push(hidden)

/*
 * BYTES did not fit.  Take the configured action.  If this function returns, the call must fail
 * with ENOMEM; errno is set.
 */
void limit_reached(struct wire_thread *self, size_t bytes);
/* BYTES exceeded a limit that is only reported. */
void limit_passed(int64_t bytes);
/* Count BYTES more for SELF on the slow path.  False if they do not fit. */
bool limit_take(struct wire_thread *self, int64_t bytes);

#pragma GCC visibility pop

#endif
