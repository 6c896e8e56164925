/*
 * log-drain: takes the events of a log out of the blocks that the threads of a process append to
 * (wire/log.h), in the order of time.  Nothing in the process waits for it, and all that it reads
 * may be damaged: whatever is there, it ends, and what comes out is what an event can be.
 */
#ifndef MEMDIAG_RECORDING_LOG_DRAIN_H
#define MEMDIAG_RECORDING_LOG_DRAIN_H

#include <stdbool.h>

#include "recording/event.h"
#include "recording/log-source.h"
#include "wire/log.h"

struct log_sink {
	void *context;
	/*
	 * NR events at V, in the order of time.  0, or -1 with E: the drain cannot be used any
	 * more.
	 */
	int (*add)(void *context, const struct event *v, size_t nr, struct err *e);
};

struct log_drain;

/*
 * The log of S, which is copied, and whose head says that it is at LOG_AT and that it has room for
 * MAX_SITES.  IS_STEADY: the counter of the stamps is the same on all processors.  The caller frees
 * *RET.  0, or -1 with E: ERR_UNSUPPORTED, it is no log.
 */
int log_drain_new(struct log_drain **ret, const struct log_source *s, const struct wire_sites *head,
	bool is_steady, struct err *e);
void log_drain_free(struct log_drain *d);

/* A moment by both clocks. */
struct log_now {
	uint64_t ns;	/* os_coarse_ns() */
	uint64_t stamp; /* wire_stamp(), as of some 10 us before: see log_drain_round() */
};

/*
 * Read what was appended before NOW, a moment before this call, and give the blocks back that are
 * full and read.  IS_LAST: all of it, as nobody appends any more.
 *
 * Events come out in the order of their stamps.  A thread that has lost its processor between the
 * stamp of an event and its words is waited for, with all later events of the others: for 20
 * rounds, and as long as there are blocks.  For that a mark of such an event that was set at
 * NOW->stamp must be seen now.  Events that come out behind later ones all the same are counted as
 * unordered.  So are all of several threads if the counter is not steady, or has gone back.  None
 * that frees what has not come out is before that, unless events were dropped.
 *
 * A time that is after NOW makes no sense, and becomes that one; one that is less than one that
 * came out before, as of a thread that was held up, becomes that one.  0, or -1 with E: of the
 * source, or of SINK.
 */
int log_drain_round(struct log_drain *d, const struct log_now *now, bool is_last,
	const struct log_sink *sink, struct err *e);

struct log_drain_state {
	uint64_t nr_events;		    /* that came out so far */
	uint64_t nr_damaged;		    /* words that are no event, and blocks that are none */
	uint64_t nr_dropped, dropped_bytes; /* see struct wire_log */
	uint64_t last_ns;		    /* the time of the last event; 0: there was none */
	/* Events whose order among those of other threads is not known, and their bytes. */
	uint64_t nr_unordered, unordered_bytes;
};
struct log_drain_state log_drain_state(const struct log_drain *d);

#endif
