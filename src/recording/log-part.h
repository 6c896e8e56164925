/* log-part: one file of a log, read as a recording.  doc/internals/log.md has the format. */
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
	const char *name;   /* for errors; must outlive it */
	struct stream *stream;
	struct log_head head;
	uint64_t base_ticks; /* time 0 */
	uint64_t max_bytes;  /* of records: bytes after them were missing the first time */

	uint8_t *text; /* unread bytes are from AT to END */
	size_t room, at, end;
	uint64_t text_at; /* offset of TEXT in the unpacked file */
	bool has_read_all;

	struct log_pairs pairs;
	uint64_t time_ns, last_address;
	uint64_t nr_events;
	bool has_begun;	   /* the amounts live at the beginning are known */
	bool gave_time;	   /* the first event was given out */
	bool is_at_moment; /* the last record was a moment: the round is complete */
	bool has_end;	   /* the end record was read */
	bool is_last;	   /* from the end record: the log ends with this file */
	bool is_followed;  /* its end is still to come; mappings are not kept */
	bool has_stopped;
	uint64_t nr_bytes; /* of the records read so far */
	bool has_stamps;   /* the order of all threads' events is known, except for: */
	uint64_t nr_unordered, unordered_bytes;
	uint64_t nr_dropped, dropped_bytes, nr_unmatched, unmatched_bytes;
	struct amount live_before, mapped_before; /* when the file begins */
	struct log_names names;
};

/*
 * Read the head of S, which is taken over and called NAME.  The caller frees *RET by its ops.  0,
 * or -1 with E.
 */
int log_part_open(struct log_part **ret, struct stream *s, const char *name, struct err *e);
/* Read at most MAX_BYTES, the whole records that the file had before. */
void log_part_limit(struct log_part *p, uint64_t max_bytes);

/* Continue where P, which is followed, has stopped: the file may have become longer. */
void log_part_resume(struct log_part *p);

#endif
