/*
 * log-part: one file of a log, read as a recording.  doc/internals/log.md has the format.
 */
#ifndef MEMDIAG_RECORDING_LOG_PART_H
#define MEMDIAG_RECORDING_LOG_PART_H

#include "recording/live.h"
#include "recording/log-format.h"
#include "recording/log-names.h"
#include "recording/recording.h"
#include "recording/stream.h"

/* The head of a file. */
struct log_head {
	uint64_t pid, number, realtime_ns, opened_ns, ticks;
	char name[LOG_MAX_NAME_BYTES + 1];
};

struct log_part {
	struct recording r; /* first */
	const char *name;   /* for errors; stays */
	struct stream *stream;
	struct log_head head;
	uint64_t base_ticks; /* time 0 */
	uint64_t max_bytes;  /* of records: bytes behind were not there the first time */

	uint8_t *text; /* what comes next is from AT to END */
	size_t room, at, end;
	uint64_t text_at; /* where in the unpacked file TEXT begins */
	bool has_read_all;

	struct log_pairs pairs;
	uint64_t time_ns, last_address;
	uint64_t nr_events;
	bool has_begun;	   /* what was live is known */
	bool gave_time;	   /* the first event */
	bool is_at_moment; /* the last record was one: the round is whole */
	bool has_end;	   /* the record */
	bool is_last;	   /* by that: the log ends with it */
	bool is_followed;  /* its end is to come; mappings are not kept */
	bool has_stopped;
	uint64_t nr_bytes; /* of the records that were read */
	bool has_stamps;   /* the order of all threads' events is known but for: */
	uint64_t nr_unordered, unordered_bytes;
	uint64_t nr_dropped, dropped_bytes, nr_unmatched, unmatched_bytes;
	struct amount live_before, mapped_before; /* when the file begins */
	struct log_names names;
};

/*
 * Read the head of S, which is taken over, called NAME.  The caller frees *RET by its ops.  0, or
 * -1 with E.
 */
int log_part_open(struct log_part **ret, struct stream *s, const char *name, struct err *e);
/* Read no further than MAX_BYTES, which the file had of whole records before. */
void log_part_limit(struct log_part *p, uint64_t max_bytes);

/* Read on where P, which is followed, has stopped: the file may have become longer. */
void log_part_resume(struct log_part *p);

#endif
