/*
 * log-record: 'memdiag record --mode log-fast': a record of which every event is also written to
 * files, by this memdiag while it waits, or by one in the background.
 */
#ifndef MEMDIAG_CAPTURE_LOG_RECORD_H
#define MEMDIAG_CAPTURE_LOG_RECORD_H

#include <limits.h>

#include "capture/capture.h"
#include "os/os.h"
#include "recording/log-session.h"

/* Record T for a time, and write its log meanwhile.  0, or -1 with E. */
int log_record_once(struct target *t, const struct capture_options *opt, struct capture_result *ret,
	struct err *e);

/*
 * Begin a record of T whose log a process in the background writes.  A running record without a log
 * is started again, so that the log has all of it.  0, or -1 with E; nothing is recorded then.
 */
int log_record_start(struct target *t, const struct capture_options *opt,
	struct capture_result *ret, struct err *e);

/*
 * End the log of T, whose sites are C, because its record has ended or will continue without a log;
 * report what was written.  Succeeds without a log.  0, or -1 with E.
 */
int log_record_stop(const struct target *t, const struct sites_copy *c,
	const struct capture_options *opt, struct log_state *ret, struct err *e);

/*
 * Read the state of the log of T, whose sites are at SITES_AT: what is written, and whether it
 * continues.
 */
void log_record_look(const struct target *t, raddr sites_at, struct log_state *ret);

/* Set how many files are kept, from OPT.  0, or -1 with E. */
int log_record_set_files(const struct target *t, const struct sites_copy *c,
	const struct capture_options *opt, struct err *e);

/*
 * Make the directory NAME, or the present one if NULL, unless it exists.  RET is its absolute path.
 * 0, or -1 with E.
 */
int log_record_make_dir(const char *name, char ret[PATH_MAX], struct err *e);

/* Store what SESSION has written to DIR. */
void log_record_keep_sum(const struct log_session *session, const char *dir, uint32_t max_files,
	struct log_state *ret);

#endif
