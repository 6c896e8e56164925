/*
 * recording: a file of every allocation of a process, in order.  This is the seam between formats
 * and what is made of them: a reader of a format fills in struct recording_ops, and history.h needs
 * to know no more.
 *
 * The place of an allocation is a site: a number that stands for a stack of calls, and where the
 * format knows threads, for a stack in a thread.  Sites are dense: 0, 1, 2 ... as they come.
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
	const char *format;    /* for people */
	uint32_t nr_sites;     /* sites of events so far are below */
	bool is_partial;       /* the file was cut off */
	bool has_mappings;     /* the format has them */
	struct profile *facts; /* owned: comments, warnings, PID and time; no samples */
};

struct recording_ops {
	/*
	 * Up to ROOM next events into V, their number into *RET: 0 at the end.  Of a file that was
	 * cut off, all that is whole.  0, or -1 with E: the file, the line, and what is wrong.
	 */
	int (*next)(struct recording *r, struct event *v, size_t room, size_t *ret, struct err *e);
	/*
	 * Begin again, at the end or where nothing was read yet; the same sites have the same
	 * numbers.
	 */
	int (*rewind)(struct recording *r, struct err *e);
	/* Not NULL: the recording has parts, and neither of the above. */
	const struct recording_parts *parts;
	/*
	 * Begin to give names to P, which has none yet; those given to the profile before are
	 * forgotten.  After the events have been read to their end once.
	 */
	int (*begin)(struct recording *r, struct profile *p, struct err *e);
	/* The stack, and if known the thread, of SITE as a sample of the P that was begun last. */
	int (*sample)(struct recording *r, uint32_t site, struct profile *p,
		struct profile_sample *ret, struct err *e);
	void (*free)(struct recording *r);
};

/*
 * A recording that is several, each of which can be read by itself, in a thread of its own: it
 * begins with EVENT_TIME and what was live then, and sites have the same numbers in all of them.
 */
struct recording_parts {
	/* How many there are; 1 at least. */
	size_t (*nr)(const struct recording *r);
	/*
	 * Open PART, which is freed by its ops.  Several may be open at once, by several threads;
	 * each part once.
	 */
	int (*open)(struct recording *r, size_t part, struct recording **ret, struct err *e);
	/*
	 * OPENED, which is PART, was read to its end: take over what sites are.  In the order of
	 * parts, and never by two threads at once.
	 */
	int (*done)(struct recording *r, size_t part, struct recording *opened, struct err *e);
	/*
	 * Whether all of what was live when OPENED begins was there: else it was cut off before,
	 * and if it is the last part, none of it is to be summed up.
	 */
	bool (*has_begun)(const struct recording *opened);
	/* Whether PART, which is done, ends where the next one begins, as far as it says. */
	bool (*is_whole)(const struct recording *r, size_t part);
	/*
	 * PART does not begin with what was live at the end of the one before: those before it are
	 * no part any more.
	 */
	int (*drop_before)(struct recording *r, size_t part, struct err *e);
};

/* One of the logs in a directory, as each file begins with it: doc/internals/log.md. */
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
