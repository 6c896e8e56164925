/*
 * log-session: a log that is being written: what is drained from a process goes to the files, round
 * after round, and other memdiags see in the head of the log how far it is.
 */
#ifndef MEMDIAG_RECORDING_LOG_SESSION_H
#define MEMDIAG_RECORDING_LOG_SESSION_H

#include <stdbool.h>
#include <sys/types.h>

#include "recording/log-drain.h"
#include "recording/log-writer.h"

/* How often a round is to be made: threads fill their blocks meanwhile. */
#define LOG_ROUND_NS UINT64_C(50000000)

struct log_session_settings {
	struct log_source source;
	/* Its mappings and RSS are read; NULL: mappings are as the agent has noted. */
	const struct target *target;
	pid_t rss_pid; /* without a target: the process whose RSS is read; 0: not known */
	const char *dir;
	pid_t pid;	    /* for the names of files */
	uint32_t max_files; /* that stay; 0: the default */
	uint64_t max_file_bytes;
};

struct log_session;

/*
 * Begin to write the log of S, which is copied; what it points to stays.  The caller closes *RET.
 * 0, or -1 with E; ERR_UNSUPPORTED: there is no log.
 */
int log_session_open(struct log_session **ret, const struct log_session_settings *s, struct err *e);

/*
 * Write what came since the last round.  IS_LAST: all of it, as nothing is appended any more.  A
 * file that cannot be written is no failure: what is lost is counted, and a later round tries
 * again.  0, or -1 with E, which the head of the log has then, too: nothing more can be read.
 */
int log_session_round(struct log_session *s, bool is_last, struct err *e);

/* Whether it was ended: `record stop` says so in the head of the log. */
bool log_session_is_over(const struct log_session *s);
/* How often the process has called exec, without failing. */
uint32_t log_session_nr_leaving(const struct log_session *s);

struct log_session_sum {
	struct log_written written;
	struct log_drain_state drained;
	struct err failure; /* why a file could not be written, the last time; no kind: none */
};
struct log_session_sum log_session_sum(const struct log_session *s);

/* End it, and release S also on failure.  0, or -1 with E. */
int log_session_close(struct log_session *s, struct err *e);

/* ---- a log that anybody writes ---- */

/* The head of the log of S, if it has one.  0, or -1 with E (ERR_UNSUPPORTED: it has none). */
int log_head_read(struct wire_log *ret, const struct log_source *s, struct err *e);
/* Have nothing appended to the log of S any more, and its writer end. */
int log_head_close(const struct log_source *s, struct err *e);
/* Have MAX_FILES stay from now on. */
int log_head_set_files(const struct log_source *s, uint32_t max_files, struct err *e);

#endif
