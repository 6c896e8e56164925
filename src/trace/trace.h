/*
 * trace: the system calls of a process that allocate and release memory, or its page faults, with
 * their stacks, while they happen.  The process is never stopped: the kernel copies the thread's
 * stack, and memdiag evaluates it later.
 */
#ifndef MEMDIAG_TRACE_TRACE_H
#define MEMDIAG_TRACE_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "os/os.h"
#include "trace/program.h"

/* A call that has returned; or if NR_LOST is not 0, only a number of lost records. */
struct trace_event {
	uint64_t nr_lost;
	struct trace_program *program;
	pid_t tid;
	uint64_t time_ns; /* time of its entry, since the start of the trace */
	enum trace_call call;
	uint64_t address, bytes;
	bool is_reserve;      /* mmap() of inaccessible memory */
	bool gives_back;      /* it removes memory from the process */
	bool is_size_unknown; /* of shmat() or shmdt() */
	int error;	      /* the call failed */
	struct trace_entry entry;
	uint64_t result;
	const char *file; /* the mapped file, with has_files; NULL without a file, or if unknown */
	uint32_t stack;	  /* in the program */
};

struct trace_options {
	bool call[TRACE_NR_CALLS]; /* requested calls */
	uint64_t min_bytes;
	bool follow_children;
	bool has_files; /* events name the mapped file; takes a record for each mapping */
	bool may_mount; /* tracefs, if it is not mounted */
	/* page faults instead of calls, one sample per this many faults */
	bool faults;
	uint64_t period;
	uint64_t duration_ns; /* 0: until the process ends or memdiag is asked to end */
	uint64_t max_events;  /* 0: unlimited */
	size_t stack_bytes, ring_bytes;
	/*
	 * Called when events are reported from now on; returns 0, or -1 with E.  May be NULL.  With
	 * STARTS_PROGRAM the process then executes another program, and its earlier events are
	 * ignored.
	 */
	int (*begun)(void *arg, struct err *e);
	bool starts_program;
	/*
	 * Called for each event in order, once its stack has names; returns 0, or -1 with E.  May
	 * be NULL.
	 */
	int (*show)(const struct trace_event *event, void *arg, struct err *e);
	/*
	 * Called after the new events were shown; returns 1 to end the trace, -1 with E.  May be
	 * NULL.
	 */
	int (*flush)(void *arg, struct err *e);
	void *arg;
};

enum trace_why {
	TRACE_TIME_OVER,
	TRACE_ENOUGH, /* max_events */
	TRACE_ASKED,  /* SIGINT, SIGTERM or SIGHUP */
	TRACE_TARGET_ENDED,
};

struct trace {
	struct {
		struct trace_program **v; /* the first is the target's program */
		size_t nr, room;
	} programs;
	enum trace_why why;
	uint64_t duration_ns;
	uint64_t nr_events; /* of the traced processes */
	/* records of all processes, because the buffer was full */
	uint64_t nr_lost;
	uint64_t nr_lost_threads;		/* threads whose events may be missing */
	uint64_t nr_unpaired;			/* calls whose entry or return was lost */
	uint64_t nr_cut, nr_broken, nr_unknown; /* events by the state of their stacks' ends */
	/* RSS of the target; 0: unknown */
	uint64_t rss_before_bytes, rss_after_bytes;
};

/*
 * Trace T until SIGINT, SIGTERM or SIGHUP, or another end.  TRACE must be zeroed; the caller
 * releases it, even on failure.  Returns 0, or -1 with E: ERR_PERMISSION if the kernel denies it.
 */
int trace_run(struct trace *trace, struct target *t, const struct trace_options *o, struct err *e);
void trace_release(struct trace *trace);
#define auto_trace __attribute__((cleanup(trace_release)))

#endif
