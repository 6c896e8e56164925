/*
 * event: changes of a process's memory, as log-drain takes them out of the process, as log-writer
 * writes them, and as recordings of any format are read.
 */
#ifndef MEMDIAG_RECORDING_EVENT_H
#define MEMDIAG_RECORDING_EVENT_H

#include <stdbool.h>
#include <stdint.h>

/* Log files contain the numbers of the first three and of the four of mappings (log-format.h). */
enum event_kind {
	EVENT_ALLOCATED,
	EVENT_FREED,
	EVENT_FREED_SOON, /* a temporary block, as the format defines it */
	/*
	 * The program's own mappings, at sites that have no blocks.  A mapping of "bytes" is made;
	 * grows by them; is unmapped; shrinks by them, but not to zero.  Which of a site's mappings
	 * it is, is unknown.
	 */
	EVENT_MAPPED,
	EVENT_GROWN,
	EVENT_UNMAPPED,
	EVENT_SHRUNK,
	/* The other kinds occur only in recordings. */
	/*
	 * "blocks" of a site, "bytes" in all, were live before the recording began.  Only before
	 * all events of other kinds except EVENT_TIME.
	 */
	EVENT_LIVE,
	EVENT_LIVE_MAPPED, /* as EVENT_LIVE */
	EVENT_RSS,	   /* the process's resident memory, in "bytes" */
	EVENT_TIME,	   /* no event up to this time */
	/*
	 * "bytes" of events since the last EVENT_RSS or EVENT_TIME have an unknown order relative
	 * to those of other threads.
	 */
	EVENT_UNORDERED,
};

struct event {
	/*
	 * Since the recording began, and never less than that of the previous event.  From
	 * log-drain to log-writer it is CLOCK_MONOTONIC.
	 */
	uint64_t time_ns;
	uint64_t bytes; /* of the block; at most EVENT_MAX_BYTES, except for blocks live before */
	uint32_t site;	/* where the block was allocated, also for a free */
	enum event_kind kind;
	uint64_t blocks; /* of EVENT_LIVE and EVENT_LIVE_MAPPED */
};

/* More than the address space of any processor that Linux runs on. */
#define EVENT_MAX_BYTES ((uint64_t)1 << 57)

/* Return whether an event of KIND is one of a mapping; EVENT_LIVE_MAPPED is not. */
static inline bool
event_is_of_mapping(enum event_kind kind)
{
	return kind >= EVENT_MAPPED && kind <= EVENT_SHRUNK;
}

#endif
