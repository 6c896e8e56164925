/*
 * log-writer: the files of a log.  A log is every allocation of a process in the order of time, in
 * files of limited size of which the oldest are removed; each file begins with the amounts live at
 * that time, so any newest run of them can be read alone.  doc/internals/log.md has the format.
 */
#ifndef MEMDIAG_RECORDING_LOG_WRITER_H
#define MEMDIAG_RECORDING_LOG_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "recording/event.h"
#include "wire/sites.h"

/*
 * Gives the stack of a site of the process; all return 0, or -1 with E.  A site that they do not
 * give is written without its stack, and counted as nr_unknown.  The functions below call them.
 */
struct log_namer {
	void *context;
	int (*site)(void *context, uint32_t site, struct wire_site *ret, struct err *e);
	int (*node)(void *context, uint32_t node, struct wire_node *ret, struct err *e);
	/* The mappings, as in /proc/PID/maps; *RET is valid until the next call. */
	int (*maps)(void *context, const char **ret, struct err *e);
};

struct log_settings {
	/*
	 * The directory of the files, made if it does not exist.  It is looked up once: a directory
	 * that is moved gets the later files as well, wherever its name leads then.
	 */
	const char *dir;
	const char *name; /* of the program */
	uint32_t pid;
	uint64_t opened_ns;   /* CLOCK_MONOTONIC: time 0 of the log */
	uint64_t realtime_ns; /* CLOCK_REALTIME at that moment */
	/*
	 * On the disk; 0: 100 MB; the minimum is 4096.  The part before a file's events, with the
	 * amounts live before them, is at most half of it: otherwise the file is longer.
	 */
	uint64_t max_file_bytes;
	uint32_t max_files; /* 0: 10 */
};

struct log_writer;

/*
 * Begin a log: its first file is made, DIR/memdiag.TIME.PID.1.mlog.zst.  The caller closes *RET.
 * 0, or -1 with E, which contains the file and the reason.  S is copied; NAMES is copied, but its
 * context must stay valid.
 */
int log_writer_open(struct log_writer **ret, const struct log_settings *s,
	const struct log_namer *names, struct err *e);

/*
 * Add the NR events at V, of blocks and mappings, with times of CLOCK_MONOTONIC in their order: an
 * earlier time is replaced by that of the event before.  0, or -1 with E if a file cannot be
 * written, for example because the disk is full.
 *
 * Then that file ends after its last whole record, and W continues to track what is live; events
 * are lost, and counted as nr_lost, until log_writer_flush() has begun another file.  -1 is
 * returned once.  The file is removed if it has no event yet.
 *
 * The process may write anything, and lose events.  So a free of more than is live at its site is
 * not written, but counted as nr_unmatched, and so is an invalid event.
 */
int log_writer_add(struct log_writer *w, const struct event *v, size_t nr, struct err *e);

/* The state of the process at TIME_NS; all events before it have been added. */
struct log_moment {
	uint64_t time_ns;
	uint64_t rss_bytes;			/* 0 if unknown */
	uint64_t nr_dropped, dropped_bytes;	/* so far, see struct wire_log */
	uint64_t nr_unordered, unordered_bytes; /* so far, see struct log_drain_state */
};

/*
 * Write all that was added: it is in the file on return, also if memdiag is killed then, but not if
 * the machine crashes: nothing waits for the disk.  0, or -1 with E as log_writer_add(), or if no
 * file can be begun.  After a failure that is tried 1 s later, and twice as late each time, up to
 * 64 s; until then E is that of the last attempt.  The oldest file is removed when the next one has
 * events.
 */
int log_writer_flush(struct log_writer *w, const struct log_moment *m, struct err *e);

/* Return how many files are kept for MAX_FILES: that many, or the default if it is 0. */
uint32_t log_writer_most_files(uint32_t max_files);

/*
 * Set how many files are kept from now on; 0: 10.  0, or -1 with E if one too many cannot be
 * removed; that is tried again with the next file.
 */
int log_writer_set_files(struct log_writer *w, uint32_t max_files, struct err *e);

struct log_written {
	uint64_t nr_events; /* in files, including removed ones */
	/* Sizes of all files so far: before compression, and on the disk. */
	uint64_t raw_bytes, file_bytes;
	uint32_t nr_files, nr_removed;
	uint64_t nr_lost; /* events without a file */
	uint64_t nr_unmatched, unmatched_bytes;
	uint64_t nr_unknown; /* stacks, see struct log_namer */
	const char *file;    /* the present one, NULL without a file; valid until the next call */
};
struct log_written log_writer_sum(const struct log_writer *w);

/* End the log and release W, also on failure.  W may be NULL. */
int log_writer_close(struct log_writer *w, struct err *e);

#endif
