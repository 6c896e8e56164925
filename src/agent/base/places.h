/* places: the place of each thread's counters. */
#ifndef MEMDIAG_AGENT_BASE_PLACES_H
#define MEMDIAG_AGENT_BASE_PLACES_H

#include "agent/base/segment.h"
#include "wire/wire.h"

#pragma GCC visibility push(hidden)

/* Call this once, when the segment exists. */
void place_init(void);

/* Get a place for a thread that has no place yet; NULL if all are taken.  Takes no lock. */
struct wire_thread *place_register(void);

/* The place for all threads that have no place. */
static inline struct wire_thread *
place_shared(void)
{
	return wire_threads(segment);
}

#pragma GCC visibility pop

#endif
