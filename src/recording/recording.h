/*
 * recording: a file of every allocation of a process, in order.  This is the boundary between
 * formats and their use: a reader of a format fills in struct recording_ops, and history.h needs
 * nothing else.
 *
 * The place of an allocation is a site: a number that stands for a stack of calls, and if the
 * format knows threads, for a stack in a thread.  Sites are dense: 0, 1, 2 ...  in the order of
 * their first use.
 */
#ifndef MEMDIAG_RECORDING_RECORDING_H
#define MEMDIAG_RECORDING_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "profile/profile.h"
#include "recording/event.h"

struct recording {
	const struct recording_ops *ops;
	const char *format;    /* for the user */
	uint32_t nr_sites;     /* all sites of events so far are less */
	bool is_partial;       /* the file was cut off */
	bool has_mappings;     /* the format has them */
	struct profile *facts; /* owned: comments, warnings, PID and time; no samples */
};

struct recording_ops {
	/*
	 * Read up to ROOM next events into V, and their number into *RET: 0 at the end.  From a
	 * file that was cut off, read all whole records.  0, or -1 with E: the file, the line, and
	 * the error.
	 */
	int (*next)(struct recording *r, struct event *v, size_t room, size_t *ret, struct err *e);
	/*
	 * Start again from the beginning, at the end or before anything was read; the same sites
	 * have the same numbers.
	 */
	int (*rewind)(struct recording *r, struct err *e);
	/* If not NULL, the recording has parts, and neither of the above. */
	const struct recording_parts *parts;
	/*
	 * Begin to give names to P, which has no names yet; those given to the previous profile are
	 * forgotten.  Only after the events have been read to their end once.
	 */
	int (*begin)(struct recording *r, struct profile *p, struct err *e);
	/*
	 * Store the stack, and if known the thread, of SITE as a sample of the P that was begun
	 * last.
	 */
	int (*sample)(struct recording *r, uint32_t site, struct profile *p,
		struct profile_sample *ret, struct err *e);
	void (*free)(struct recording *r);
};

/*
 * A recording of several parts, each of which can be read in a separate thread: a part begins with
 * EVENT_TIME and the amounts live then, and sites have the same numbers in all parts.
 */
struct recording_parts {
	/* Return the number of parts, at least 1. */
	size_t (*nr)(const struct recording *r);
	/*
	 * Open PART, which is freed by its ops.  Several may be open at once, in several threads;
	 * each part only once.
	 */
	int (*open)(struct recording *r, size_t part, struct recording **ret, struct err *e);
	/*
	 * OPENED, which is PART, was read to its end: take over its sites.  Called in the order of
	 * parts, and never by two threads at once.
	 */
	int (*done)(struct recording *r, size_t part, struct recording *opened, struct err *e);
	/*
	 * Return whether all amounts live at the beginning of OPENED were read; if not, it was cut
	 * off before, and if it is the last part, it must not be added.
	 */
	bool (*has_begun)(const struct recording *opened);
	/*
	 * Return whether PART, which is done, ends where the next one begins, as far as it is
	 * known.
	 */
	bool (*is_whole)(const struct recording *r, size_t part);
	/*
	 * PART does not begin with the amounts live at the end of the one before: drop the parts
	 * before it.
	 */
	int (*drop_before)(struct recording *r, size_t part, struct err *e);
};

/* Identifies one of the logs in a directory, as in the head of each file: doc/internals/log.md. */
struct recording_log {
	uint64_t realtime_ns, opened_ns;
};

static inline void
recording_free(struct recording *r)
{
	if (r)
		r->ops->free(r);
}
static inline void
recording_cleanup(struct recording **r)
{
	recording_free(*r);
}
#define auto_recording __attribute__((cleanup(recording_cleanup)))

#endif
