/*
 * places: where each thread counts.
 */
#ifndef MEMDIAG_AGENT_BASE_PLACES_H
#define MEMDIAG_AGENT_BASE_PLACES_H

#include "agent/base/segment.h"
#include "wire/wire.h"

#pragma GCC visibility push(hidden)

/* Once, when the segment is there. */
void place_init(void);

/* A place for a thread that has none yet; NULL: all are taken.  Takes no lock. */
struct wire_thread *place_register(void);

/* The one for threads that have none. */
static inline struct wire_thread *
place_shared(void)
{
	return wire_threads(segment);
}

#pragma GCC visibility pop

#endif
