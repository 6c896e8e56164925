/*
 * follow: the history of a log that is being written, as it grows.  Only what is new is read, and
 * only files: the process and its writer notice nothing.
 */
#ifndef MEMDIAG_RECORDING_FOLLOW_H
#define MEMDIAG_RECORDING_FOLLOW_H

#include "recording/history.h"
#include "recording/recording.h"

enum follow_state {
	FOLLOW_MORE,   /* there is more to read */
	FOLLOW_WAIT,   /* all is read, and its writer goes on */
	FOLLOW_LEFT,   /* all is read, and nobody seems to write: another file may still come */
	FOLLOW_CLOSED, /* the log has its end, or is damaged: a warning was added */
};

struct follow;

/*
 * Follow R, whose intervals are to be of INTERVAL_NS, and which stays the caller's as long; nothing
 * of it may have been read.  R is a log in files, and goes on with files that come into their
 * directory later.  The comments and warnings of R's facts become more meanwhile.  The caller frees
 * *RET.  0, or -1 with E: ERR_USAGE, R is no such log.
 */
int follow_new(struct follow **ret, struct recording *r, uint64_t interval_ns, struct err *e);
void follow_free(struct follow *f);
static inline void
follow_cleanup(struct follow **f)
{
	follow_free(*f);
}
#define auto_follow __attribute__((cleanup(follow_cleanup)))

/*
 * Read some of what has come since.  Where events are missing, a warning is added, and what follows
 * is read.  0, or -1 with E.
 */
int follow_read(struct follow *f, enum follow_state *ret, struct err *e);

/*
 * The history so far.  Intervals that have ended are in it, and after follow_show(), up to the next
 * follow_read(), the present one as it is so far.
 */
const struct history *follow_history(const struct follow *f);
int follow_show(struct follow *f, struct err *e);
/* Drop the intervals of the history, whose first_interval is the next one then. */
void follow_drop(struct follow *f);
/*
 * When interval I of the history begins.  Where intervals have become longer, the first one begins
 * where those end that were dropped.
 */
uint64_t follow_interval_ns(const struct follow *f, size_t i);

/* No more is read: warn of what is missing.  IS_LEFT: also that the log has no end. */
void follow_end(struct follow *f, bool is_left);

#endif
