/*
 * log-drain: takes the events of a log out of the blocks that the threads of a process append to
 * (wire/log.h), in the order of time.  Nothing in the process waits for it, and all that it reads
 * may be damaged: it ends in any case, and gives out only valid events.
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
	 * Takes NR events at V, in the order of time.  0, or -1 with E: then the drain is unusable.
	 */
	int (*add)(void *context, const struct event *v, size_t nr, struct err *e);
};

struct log_drain;

/*
 * Make a drain for the log of S, which is copied, and whose head gives its place LOG_AT and its
 * room for MAX_SITES.  IS_STEADY: the counter of the stamps is the same on all processors.  The
 * caller frees *RET.  0, or -1 with E: ERR_UNSUPPORTED if it is not a log, or was not opened yet.
 */
int log_drain_new(struct log_drain **ret, const struct log_source *s, const struct wire_sites *head,
	bool is_steady, struct err *e);
void log_drain_free(struct log_drain *d);

/* A moment on both clocks. */
struct log_now {
	uint64_t ns;	/* os_coarse_ns() */
	uint64_t stamp; /* wire_stamp() of about 10 us earlier: see log_drain_round() */
};

/*
 * Read the events that were appended before NOW, a moment before this call, and return the blocks
 * that are full and read.  IS_LAST: read all, because no thread appends any more.
 *
 * Events are given out in the order of their stamps.  If a thread has lost its processor between
 * the stamp of an event and its words, that event is waited for, with all later events of the other
 * threads: for 20 rounds, and as long as blocks are free.  For that, a mark of such an event that
 * was set at NOW->stamp must be visible now.  Events that are still given out after later ones are
 * counted as unordered.  So are all events of several threads if the counter is not steady, or has
 * gone back.  A free is never given out before its allocation, unless events were dropped.
 *
 * A time later than NOW is invalid, and is replaced by NOW; a time less than one given out before,
 * as from a thread that was held up, is replaced by that one.  0, or -1 with E of the source or of
 * SINK.
 */
int log_drain_round(struct log_drain *d, const struct log_now *now, bool is_last,
	const struct log_sink *sink, struct err *e);

struct log_drain_state {
	uint64_t nr_events;		    /* given out so far */
	uint64_t nr_damaged;		    /* invalid words and blocks */
	uint64_t nr_dropped, dropped_bytes; /* see struct wire_log */
	uint64_t last_ns;		    /* time of the last event; 0 before the first */
	/* Events with an unknown order relative to those of other threads, and their bytes. */
	uint64_t nr_unordered, unordered_bytes;
};
struct log_drain_state log_drain_state(const struct log_drain *d);

#endif
