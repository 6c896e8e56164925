/*
 * segment: where the counters are.
 */
#ifndef MEMDIAG_AGENT_BASE_SEGMENT_H
#define MEMDIAG_AGENT_BASE_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/wire.h"

#pragma GCC visibility push(hidden)

extern struct wire_segment *segment;
/* The device of files in memory that have no name, if the segment is one of them; else 0. */
extern uint64_t segment_device;

/*
 * RLIMIT_AS and RLIMIT_DATA: how many bytes of addresses the process may have; UINT64_MAX: any
 * number.  Not in a hook, but when the agent gets ready.
 */
uint64_t segment_address_limit(void);
/* Map the counters; falls back to some that cannot be shared, so it never fails. */
void segment_open(enum wire_way way);
/* For the limit and what happens at it, as the segment has them. */
void segment_set_reserve(void);

/* Whether a forked child has a copy of its own anyway. */
bool segment_is_copied_by_fork(void);
/* A copy of what is in it, for a child that is about to be forked; NULL: there is no memory. */
struct wire_segment *segment_copy(void);
void segment_drop_copy(struct wire_segment *copy);
/*
 * In the child: put a mapping of its own in the place of its parent's, or a private one, with the
 * content of COPY.  False: that failed, and the counters are still the parent's.
 */
bool segment_part(const struct wire_segment *copy);

#pragma GCC visibility pop

#endif
