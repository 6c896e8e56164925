/*
 * log-session: a log that is being written: each round drains events from a process into files, and
 * reports the progress to other memdiags in the head of the log.
 */
#ifndef MEMDIAG_RECORDING_LOG_SESSION_H
#define MEMDIAG_RECORDING_LOG_SESSION_H

#include <stdbool.h>
#include <sys/types.h>

#include "recording/log-drain.h"
#include "recording/log-writer.h"

/* Interval of rounds: threads fill their blocks meanwhile. */
#define LOG_ROUND_NS UINT64_C(50000000)

struct log_session_settings {
	struct log_source source;
	/* Its mappings and RSS are read; if NULL, mappings come from the agent's records. */
	const struct target *target;
	pid_t rss_pid; /* without a target: the process whose RSS is read; 0 if unknown */
	const char *dir;
	pid_t pid;	    /* for the names of files */
	uint32_t max_files; /* files to keep; 0: the default */
	uint64_t max_file_bytes;
};

struct log_session;

/*
 * Begin to write the log of S, which is copied; its pointers must stay valid.  The caller closes
 * *RET.  0, or -1 with E; ERR_UNSUPPORTED if the process has no log, or has not begun it yet.
 */
int log_session_open(struct log_session **ret, const struct log_session_settings *s, struct err *e);

/*
 * Write the events since the last round.  IS_LAST: write all, as nothing is appended any more.
 * Failing to write a file does not fail the round: lost events are counted, and a later round tries
 * again.  0, or -1 with E, which is also in the head of the log: nothing more can be read.
 */
int log_session_round(struct log_session *s, bool is_last, struct err *e);

/* Return whether `record stop` has ended it, which the head of the log shows. */
bool log_session_is_over(const struct log_session *s);
/* Return how often the process has called exec, without failing. */
uint32_t log_session_nr_leaving(const struct log_session *s);

struct log_session_sum {
	struct log_written written;
	struct log_drain_state drained;
	struct err failure; /* why a file could not be written last; no kind if all could */
};
struct log_session_sum log_session_sum(const struct log_session *s);

/* End the session, and release S also on failure.  0, or -1 with E. */
int log_session_close(struct log_session *s, struct err *e);

/* ---- a log of any writer ---- */

/* Read the head of the log of S.  0, or -1 with E (ERR_UNSUPPORTED if it has no log). */
int log_head_read(struct wire_log *ret, const struct log_source *s, struct err *e);
/* Stop threads from appending to the log of S, and its writer. */
int log_head_close(const struct log_source *s, struct err *e);
/* Keep at most MAX_FILES from now on. */
int log_head_set_files(const struct log_source *s, uint32_t max_files, struct err *e);

#endif
