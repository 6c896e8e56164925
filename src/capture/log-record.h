/*
 * log-record: 'memdiag record --mode log-fast': a record of which every event is written to files
 * as well, by this memdiag while it waits, or by one in the background.
 */
#ifndef MEMDIAG_CAPTURE_LOG_RECORD_H
#define MEMDIAG_CAPTURE_LOG_RECORD_H

#include <limits.h>

#include "capture/options.h"
#include "os/os.h"
#include "recording/log-session.h"

/* Record T for a time, and write its log meanwhile.  0, or -1 with E. */
int log_record_once(
	struct target *t, const struct profile_options *opt, struct profiled *ret, struct err *e);

/*
 * Begin a record of T whose log a process in the background writes.  A record that goes on without
 * one begins anew: so the log has all of it.  0, or -1 with E; nothing is recorded then.
 */
int log_record_start(
	struct target *t, const struct profile_options *opt, struct profiled *ret, struct err *e);

/*
 * The record of T, whose sites C are, has ended, or is to go on without a log: have the log end,
 * and see what was written.  No log is no failure.  0, or -1 with E.
 */
int log_record_stop(const struct target *t, const struct sites_copy *c,
	const struct profile_options *opt, struct logged *ret, struct err *e);

/* See what is written of the log of T, whose sites are at SITES_AT, and whether it goes on. */
void log_record_look(const struct target *t, raddr sites_at, struct logged *ret);

/* Have as many files stay as OPT says.  0, or -1 with E. */
int log_record_set_files(const struct target *t, const struct sites_copy *c,
	const struct profile_options *opt, struct err *e);

/*
 * Make the directory NAME, NULL: the present one, unless it exists.  RET is its path in any
 * directory.  0, or -1 with E.
 */
int log_record_make_dir(const char *name, char ret[PATH_MAX], struct err *e);

/* Note what SESSION has written to DIR. */
void log_record_keep_sum(
	const struct log_session *session, const char *dir, uint32_t max_files, struct logged *ret);

#endif
