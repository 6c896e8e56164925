/*
 * copy: a copy of the target, made by fork: its memory at one moment, to be read while the target
 * runs.
 */
#ifndef MEMDIAG_INJECT_COPY_H
#define MEMDIAG_INJECT_COPY_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "glibc/arenas.h"
#include "inject/malloc.h"

struct inject_copying;
struct inject_target;
struct target;

struct inject_copy {
	uint64_t max_stop_ns; /* how long all threads of the target may be stopped */
	/*
	 * Read COPY, whose threads are those of the target at that moment, and whose memory does
	 * not change.  inject_copy_end() ends it before the work is over.  Returns 0, or -1 with E.
	 */
	int (*use)(const struct target *copy, struct inject_copying *c, void *arg, struct err *e);
	void *arg;
};

struct inject_copied {
	unsigned int nr_stops;
	uint64_t stopped_ns; /* how long threads were stopped, in all stops */
	uint64_t longest_ns; /* the longest stop */
	uint64_t existed_ns; /* how long the copy existed */
};

/*
 * Make a copy of the target, whose arenas are A, have WHAT->use read it, and remove it.  While it
 * exists, each page that the target writes to is copied.  The kernel ends the copy before any other
 * process when memory is short, and memdiag ends it earlier than that.  Fails with
 * ERR_NO_SAFE_POINT if it would take too long or too much memory, or was ended early, and with
 * ERR_UNSUPPORTED in a program with one thread.
 */
int inject_copy(struct inject_target *callee, const struct arenas *a,
	const struct inject_options *opt, const struct inject_copy *what, struct inject_copied *ret,
	struct inject_report *report, struct err *e);

/* End the copy; its memory can no longer be read.  A second call does nothing. */
void inject_copy_end(struct inject_copying *c);

#endif
