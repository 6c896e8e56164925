/*
 * event: what happens to the memory of a process: as log-drain takes it out of the process, as
 * log-writer writes it, and as a recording of any format is read.
 */
#ifndef MEMDIAG_RECORDING_EVENT_H
#define MEMDIAG_RECORDING_EVENT_H

#include <stdbool.h>
#include <stdint.h>

/* The first three and the four of mappings are numbers in files of logs (log-format.h). */
enum event_kind {
	EVENT_ALLOCATED,
	EVENT_FREED,
	EVENT_FREED_SOON, /* a temporary block: what that is, the format defines */
	/*
	 * Mappings of the program's own, at sites that have no blocks.  A mapping has "bytes" of
	 * memory, and had none; more; none any more; less, but some.  Which one of a site's it is,
	 * is not known.
	 */
	EVENT_MAPPED,
	EVENT_GROWN,
	EVENT_UNMAPPED,
	EVENT_SHRUNK,
	/* The rest is in recordings alone. */
	/*
	 * "blocks" of a site, "bytes" in all, were live before the recording began.  Only before
	 * all events of other kinds but EVENT_TIME.
	 */
	EVENT_LIVE,
	EVENT_LIVE_MAPPED, /* as EVENT_LIVE */
	EVENT_RSS,	   /* the process's resident memory, in "bytes" */
	EVENT_TIME,	   /* nothing happened up to then */
	/*
	 * Since the last EVENT_RSS or EVENT_TIME the order of events of "bytes" in all among those
	 * of other threads is not known.
	 */
	EVENT_UNORDERED,
};

struct event {
	/*
	 * Since the recording began, and never less than the event's before it.  From log-drain to
	 * log-writer it is CLOCK_MONOTONIC.
	 */
	uint64_t time_ns;
	uint64_t bytes; /* of the block; never more than EVENT_MAX_BYTES, but when live before */
	uint32_t site;	/* that the block was allocated at, also when it is freed */
	enum event_kind kind;
	uint64_t blocks; /* of EVENT_LIVE and EVENT_LIVE_MAPPED */
};

/* No address space of any processor that Linux runs on has so much. */
#define EVENT_MAX_BYTES ((uint64_t)1 << 57)

/* Whether an event of KIND is one of a mapping; EVENT_LIVE_MAPPED is not. */
static inline bool
event_is_of_mapping(enum event_kind kind)
{
	return kind >= EVENT_MAPPED && kind <= EVENT_SHRUNK;
}

#endif
