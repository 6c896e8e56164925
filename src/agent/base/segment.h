/* segment: the memory that holds the counters. */
#ifndef MEMDIAG_AGENT_BASE_SEGMENT_H
#define MEMDIAG_AGENT_BASE_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/wire.h"

#pragma GCC visibility push(hidden)

extern struct wire_segment *segment;
/* The device number of anonymous files in memory if the segment is such a file; else 0. */
extern uint64_t segment_device;

/*
 * The bytes of addresses that RLIMIT_AS and RLIMIT_DATA allow the process; UINT64_MAX if unlimited.
 * Call this when the agent starts, never in a hook.
 */
uint64_t segment_address_limit(void);
/* Map the segment.  Never fails: it falls back to memory that cannot be shared. */
void segment_open(enum wire_way way);
/* Set the reserve from the limit and the action at the limit, which are in the segment. */
void segment_set_reserve(void);

/* True if a forked child gets its own copy of the segment anyway. */
bool segment_is_copied_by_fork(void);
/*
 * Return a copy of the segment's content for a child that is about to be forked; NULL if no memory
 * is available.
 */
struct wire_segment *segment_copy(void);
void segment_drop_copy(struct wire_segment *copy);
/*
 * In the child, replace the mapping of the parent's segment by a new or a private one with the
 * content of COPY.  False on failure: the counters are then still the parent's.
 */
bool segment_part(const struct wire_segment *copy);

#pragma GCC visibility pop

#endif
