/* stop: stop all threads of a running target for a moment, and restore their state. */
#ifndef MEMDIAG_STOP_STOP_H
#define MEMDIAG_STOP_STOP_H

#include "os/ptrace.h"
#include "stop/timeout.h"

struct target;

struct stop_report {
	size_t nr_threads;   /* number of stopped threads */
	uint64_t still_ns;   /* how long all of them were stopped */
	uint64_t longest_ns; /* the longest stop of any thread */
};

/*
 * Stop every thread of T, call FN, restore every thread whatever FN returns, and return FN's
 * result.  FN runs in os_trace()'s thread; it must return by DEADLINE_NS of os_now_ns(), which is
 * MAX_NS after the first thread was asked to stop.  Works on any program, with any libc.  Fails
 * without calling FN: ERR_NO_SAFE_POINT if a thread does not stop in half of that time, for example
 * because it waits for a disk or for its vfork child; ERR_PERMISSION if another process traces T.
 * System calls interrupted by the stop are made again with the rest of their timeouts; this may
 * write 32 bytes of a thread's control block that libc does not use.
 */
int stop_threads(const struct target *t, uint64_t max_ns,
	int (*fn)(uint64_t deadline_ns, void *arg, struct err *e), void *arg,
	struct stop_report *ret, struct err *e);

/*
 * Stop only thread TID of T, call FN, restore the thread whatever FN returns, and return FN's
 * result; RET->nr_threads is 1 if it was stopped.  Only in os_trace().  DEADLINE_NS is MAX_NS after
 * it has stopped.  The thread has two seconds to stop, as no stopped thread waits for it.  Fails as
 * stop_threads(), and with ERR_GONE if it exits.
 */
int stop_thread(const struct target *t, pid_t tid, uint64_t max_ns,
	int (*fn)(uint64_t deadline_ns, void *arg, struct err *e), void *arg,
	struct stop_report *ret, struct err *e);

/* ---- in two steps, for callers in os_trace() ---- */

/* One thread of a target that is being stopped. */
struct stopped_thread {
	pid_t tid;
	enum { STOPPED_NOT, STOPPED_STANDS, STOPPED_GONE } state;
	struct os_stop stop; /* for a stopped thread */
	struct timeout timeout;
	uint64_t since_ns; /* upper bound of its stop: it stopped at this time or later */
};

struct stopped {
	const struct target *target;
	struct {
		struct stopped_thread *v; /* by tid */
		size_t nr, room;
	} thread;
	uint64_t begun_ns;   /* time of the first attach */
	uint64_t started_ns; /* time of the first interrupt */
	uint64_t still_ns;   /* time when the last thread had stopped */
	bool has_exec;
};

/*
 * Stop all threads of T except EXCEPT (0: no exception), which must already be stopped.  Only in
 * os_trace().  If threads do not stop in half of MAX_NS, all are let go: ERR_NO_SAFE_POINT.
 */
int stop_begin(
	struct stopped *s, const struct target *t, pid_t except, uint64_t max_ns, struct err *e);

/* Let all threads go.  RET may be NULL.  A second call does nothing. */
void stop_end(struct stopped *s, struct stop_report *ret);

#endif
