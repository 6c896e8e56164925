/*
 * follow: the history of a log that is being written, as it grows.  Reads only new records, and
 * only files: neither the process nor its writer notices.
 */
#ifndef MEMDIAG_RECORDING_FOLLOW_H
#define MEMDIAG_RECORDING_FOLLOW_H

#include "recording/history.h"
#include "recording/recording.h"

enum follow_state {
	FOLLOW_MORE,   /* more can be read */
	FOLLOW_WAIT,   /* all is read, and its writer continues */
	FOLLOW_LEFT,   /* all is read, and no process seems to write; another file may still come */
	FOLLOW_CLOSED, /* the log has its end, or is damaged: a warning was added */
};

struct follow;

/*
 * Follow R with intervals of INTERVAL_NS.  The caller keeps R until *RET is freed; nothing of it
 * may have been read.  R is a log in files, and continues with files that come into their directory
 * later.  Comments and warnings are added to R's facts meanwhile.  The caller frees *RET.  0, or -1
 * with E: ERR_USAGE if R is not such a log.
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
 * Read some of the new records.  Where events are missing, add a warning and continue after them.
 * 0, or -1 with E.
 */
int follow_read(struct follow *f, enum follow_state *ret, struct err *e);

/*
 * Return the history so far.  It has the intervals that have ended; from follow_show() to the next
 * follow_read(), it also has the present one so far.
 */
const struct history *follow_history(const struct follow *f);
int follow_show(struct follow *f, struct err *e);
/* Drop the intervals of the history; its first_interval is then the next one. */
void follow_drop(struct follow *f);
/*
 * Return when interval I of the history begins.  If intervals have become longer, the first one
 * begins at the end of the dropped ones.
 */
uint64_t follow_interval_ns(const struct follow *f, size_t i);

/* End the reading: warn of missing events, and with IS_LEFT also that the log has no end. */
void follow_end(struct follow *f, bool is_left);

#endif
