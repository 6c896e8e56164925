/*
 * log-writer: the files of a log.  A log is every allocation of a process in the order of time, in
 * files of limited size of which the oldest are removed; each file begins with what was live then,
 * so any newest run of them can be read alone.  doc/internals/log.md has the format.
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
 * Gives what a site of the process is; all return 0, or -1 with E.  A site that they do not give is
 * written without its stack, and counted as nr_unknown.  They are called from within the functions
 * below.
 */
struct log_namer {
	void *context;
	int (*site)(void *context, uint32_t site, struct wire_site *ret, struct err *e);
	int (*node)(void *context, uint32_t node, struct wire_node *ret, struct err *e);
	/* The mappings, as in /proc/PID/maps; *RET stays until the next call. */
	int (*maps)(void *context, const char **ret, struct err *e);
};

struct log_settings {
	/*
	 * The directory of the files, made if it is not there.  It is looked up once: one that is
	 * moved gets the later files as well, wherever its name leads then.
	 */
	const char *dir;
	const char *name; /* of the program */
	uint32_t pid;
	uint64_t opened_ns;   /* CLOCK_MONOTONIC: time 0 of the log */
	uint64_t realtime_ns; /* CLOCK_REALTIME at that moment */
	/*
	 * On the disk; 0: 100 MB.  At least 4096 are taken.  A file has as much of events as of
	 * what was live before them: where that is more than half of it, the file is longer.
	 */
	uint64_t max_file_bytes;
	uint32_t max_files; /* 0: 10 */
};

struct log_writer;

/*
 * Begin a log: its first file is made, DIR/memdiag.TIME.PID.1.mlog.zst.  The caller closes *RET.
 * 0, or -1 with E: which file, and why.  S need not stay; NAMES is copied, its context has to stay.
 */
int log_writer_open(struct log_writer **ret, const struct log_settings *s,
	const struct log_namer *names, struct err *e);

/*
 * The NR events at V, of blocks and mappings, follow, with times of CLOCK_MONOTONIC in their order:
 * an earlier time is taken as that of the event before.  0, or -1 with E where a file cannot be
 * written: the disk is full, say.
 *
 * Then that file ends where it was whole, and W goes on to know what is live; events are lost, and
 * counted as nr_lost, until log_writer_flush() has begun another file.  -1 is returned once.  The
 * file is removed if it has no event yet.
 *
 * The process may write what it likes, and lose events.  So a free of more than is live at its site
 * is not written, but counted as nr_unmatched, and so is an event that cannot be.
 */
int log_writer_add(struct log_writer *w, const struct event *v, size_t nr, struct err *e);

/* The state of the process at TIME_NS; all events before it have been added. */
struct log_moment {
	uint64_t time_ns;
	uint64_t rss_bytes;			/* 0: not known */
	uint64_t nr_dropped, dropped_bytes;	/* so far, see struct wire_log */
	uint64_t nr_unordered, unordered_bytes; /* so far, see struct log_drain_state */
};

/*
 * All that was added is in the file when this returns, also if memdiag is killed then, but not if
 * the machine is: nothing waits for the disk.  0, or -1 with E as log_writer_add(), or if no file
 * can be begun.  After a failure that is tried 1 s later, and twice as late each time, up to 64 s;
 * until then E is that of the last time.  The oldest file is removed when the next one has events.
 */
int log_writer_flush(struct log_writer *w, const struct log_moment *m, struct err *e);

/* How many files stay where MAX_FILES are asked for: that many, or if it is 0 the default. */
uint32_t log_writer_most_files(uint32_t max_files);

/*
 * How many files stay, from now on; 0: 10.  0, or -1 with E: one that is too many cannot be
 * removed, which is tried again with the next file.
 */
int log_writer_set_files(struct log_writer *w, uint32_t max_files, struct err *e);

struct log_written {
	uint64_t nr_events; /* in files, also in those that were removed */
	/* Sizes of all files so far: before compression, and on the disk. */
	uint64_t raw_bytes, file_bytes;
	uint32_t nr_files, nr_removed;
	uint64_t nr_lost; /* events while there was no file */
	uint64_t nr_unmatched, unmatched_bytes;
	uint64_t nr_unknown; /* stacks, see struct log_namer */
	const char *file;    /* the present one, NULL: none; stays until the next call */
};
struct log_written log_writer_sum(const struct log_writer *w);

/* End the log and release W, also if it fails.  W may be NULL. */
int log_writer_close(struct log_writer *w, struct err *e);

#endif
