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

enum event_kind {
	EVENT_ALLOCATED,
	EVENT_FREED,
	EVENT_FREED_SOON, /* a temporary block: what that is, the format defines */
	EVENT_RSS,	  /* the process's resident memory, in "bytes" */
	EVENT_TIME,	  /* nothing happened up to then */
	/*
	 * "blocks" of a site, "bytes" in all, were live before the recording began.  Only before
	 * all events of other kinds but EVENT_TIME.
	 */
	EVENT_LIVE,
	/*
	 * Mappings of the program's own, at sites that have no blocks.  A mapping has "bytes" of
	 * memory, and had none; more; none any more; less, but some.  Which one of a site's it is,
	 * is not known.
	 */
	EVENT_MAPPED,
	EVENT_GROWN,
	EVENT_UNMAPPED,
	EVENT_SHRUNK,
	EVENT_LIVE_MAPPED, /* as EVENT_LIVE */
	/*
	 * Since the last EVENT_RSS or EVENT_TIME the order of events of "bytes" in all among those
	 * of other threads is not known.
	 */
	EVENT_UNORDERED,
};

struct event {
	uint64_t time_ns; /* since the recording began; never less than the event's before it */
	uint64_t bytes;	  /* of the block; never more than EVENT_MAX_BYTES, but when live before */
	uint32_t site;	  /* that the block was allocated at, also when it is freed */
	enum event_kind kind;
	uint64_t blocks; /* of EVENT_LIVE and EVENT_LIVE_MAPPED */
};

/* No address space of any processor that Linux runs on has so much. */
#define EVENT_MAX_BYTES ((uint64_t)1 << 57)

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

/*
 * Whether the LEN bytes at DATA, or the file or directory PATH, are a recording, or so damaged that
 * nothing can be unpacked, which recording_open() says then.  Of a pipe nothing is read.
 */
bool recording_is_in(const char *data, size_t len);
bool recording_is_file(const char *path);

/*
 * Open the file PATH, which can be rewound, or the newest log in the directory PATH, or the LEN
 * bytes at DATA, which stay as long, called NAME.  The caller frees *RET.  0, or -1 with E.
 */
int recording_open(struct recording **ret, const char *path, struct err *e);

/* One of the logs in a directory, as the head of each file has it (doc/internals/log.md). */
struct recording_log {
	uint64_t realtime_ns, opened_ns;
};

/* Open the log WHICH in the directory PATH, the newest one if NULL.  As recording_open(). */
int recording_open_log(
	struct recording **ret, const char *path, const struct recording_log *which, struct err *e);
int recording_parse(
	struct recording **ret, const char *name, const char *data, size_t len, struct err *e);

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
