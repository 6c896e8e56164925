/*
 * stop: stop all threads of a living target for a moment, and give them back as they were.
 */
#ifndef MEMDIAG_STOP_STOP_H
#define MEMDIAG_STOP_STOP_H

#include "os/ptrace.h"
#include "stop/timeout.h"

struct target;

struct stop_report {
	size_t nr_threads;   /* that stood still */
	uint64_t still_ns;   /* how long all of them did */
	uint64_t longest_ns; /* the longest that one of them did */
};

/*
 * Stop every thread of T, call FN, and give every thread back as it was, whatever FN returns, which
 * is returned.  FN runs in os_trace()'s thread; it must be back by DEADLINE_NS of os_now_ns(),
 * which is MAX_NS after the first thread was asked to stop.  Works on any program, whatever its
 * libc.  ERR_NO_SAFE_POINT if a thread does not stop in half of that time, for example one that
 * waits for a disk, or for its vfork child; ERR_PERMISSION if another process traces it: FN is not
 * called then.  System calls that the stop interrupts are made again with what is left of their
 * timeouts, for which 32 bytes of a thread's control block may be written that libc does not use.
 */
int stop_threads(const struct target *t, uint64_t max_ns,
	int (*fn)(uint64_t deadline_ns, void *arg, struct err *e), void *arg,
	struct stop_report *ret, struct err *e);

/*
 * Stop thread TID of T alone, call FN, and give it back as it was, whatever FN returns, which is
 * returned; RET->nr_threads is 1 if it was stopped.  Only in os_trace().  DEADLINE_NS is MAX_NS
 * after it has stopped.  Nobody waits for a thread that has not stopped yet, so it has two seconds
 * for that.  Errors are as of stop_threads(), and ERR_GONE if it ends.
 */
int stop_thread(const struct target *t, pid_t tid, uint64_t max_ns,
	int (*fn)(uint64_t deadline_ns, void *arg, struct err *e), void *arg,
	struct stop_report *ret, struct err *e);

/* ---- the same in two steps, for callers that are in os_trace() ---- */

/* One thread of a target that is being stopped. */
struct stopped_thread {
	pid_t tid;
	enum { STOPPED_NOT, STOPPED_STANDS, STOPPED_GONE } state;
	struct os_stop stop; /* of one that stands */
	struct timeout timeout;
	uint64_t since_ns; /* it stands since then, or less long */
};

struct stopped {
	const struct target *target;
	struct {
		struct stopped_thread *v; /* by tid */
		size_t nr, room;
	} thread;
	uint64_t begun_ns;   /* when we began to attach */
	uint64_t started_ns; /* when the first was interrupted */
	uint64_t still_ns;   /* when the last had stopped */
	bool has_exec;
};

/*
 * Stop all threads of T but EXCEPT (0: none), which must stand still already.  Only in os_trace().
 * Threads that do not stop in half of MAX_NS: ERR_NO_SAFE_POINT, and all are let go.
 */
int stop_begin(
	struct stopped *s, const struct target *t, pid_t except, uint64_t max_ns, struct err *e);

/* Let all threads go.  RET may be NULL.  Does nothing the second time. */
void stop_end(struct stopped *s, struct stop_report *ret);

#endif
