/*
 * read: samples of a running process.  Its threads are stopped only if the caller says so.
 */
#ifndef MEMDIAG_WATCH_READ_H
#define MEMDIAG_WATCH_READ_H

#include <stdint.h>

#include "agentdata/live-names.h"
#include "base/err.h"
#include "maps/maps.h"
#include "os/os.h"
#include "watch/sample.h"

#define WATCH_BIT(view) (1U << (view))

/* A process, and what it takes to read it again in less time. */
struct watch_reader {
	/* Set by the caller, and free to change: */
	unsigned int views;   /* WATCH_BIT() of each table to read; classes are always read */
	uint64_t max_stop_ns; /* for WATCH_HEAP: stop the process for at most so long; 0: do not */
	/* Its own: */
	struct target target;
	struct space space;
	struct live_names names;
};

/* Open process PID; R must be zeroed, and not be moved from then on.  0, or -1 with E. */
int watch_reader_open(struct watch_reader *r, pid_t pid, struct err *e);

/*
 * Read a sample.  A table that cannot be read has the reason; without any page counts, or if the
 * process has ended (ERR_GONE), -1 with E.  RET need not be initialised; it is released on failure.
 */
int watch_read(struct watch_sample *ret, struct watch_reader *r, struct err *e);

void watch_reader_release(struct watch_reader *r);
#define auto_watch_reader __attribute__((cleanup(watch_reader_release)))

#endif
