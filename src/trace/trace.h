/*
 * trace: the system calls of a process that take memory and give it back, or its page faults, with
 * the stacks that they came from, while they happen.  The process is never stopped: the kernel
 * copies the stack of the thread, and all else is done here, later.
 */
#ifndef MEMDIAG_TRACE_TRACE_H
#define MEMDIAG_TRACE_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "os/os.h"
#include "trace/program.h"

/* A call that has returned, or if NR_LOST is not 0 records that were lost, and nothing else. */
struct trace_event {
	uint64_t nr_lost;
	struct trace_program *program;
	pid_t tid;
	uint64_t time_ns; /* when it was entered, from the beginning of the trace on */
	enum trace_call call;
	uint64_t address, bytes;
	bool is_reserve;      /* mmap() of memory that may not be accessed yet */
	bool gives_back;      /* it takes memory from the process */
	bool is_size_unknown; /* of shmat() or shmdt() */
	int error;	      /* the call failed */
	struct trace_entry entry;
	uint64_t result;
	const char *file; /* that was mapped, with has_files; NULL if none, or not known */
	uint32_t stack;	  /* of the program */
};

struct trace_options {
	bool call[TRACE_NR_CALLS]; /* which are wanted */
	uint64_t min_bytes;
	bool follow_children;
	bool has_files; /* events name what they have mapped; takes a record for each mapping */
	bool may_mount; /* tracefs, if it is not */
	/* page faults instead of calls, one for so many */
	bool faults;
	uint64_t period;
	uint64_t duration_ns; /* 0: until the process or memdiag is asked to end */
	uint64_t max_events;  /* 0: any number */
	size_t stack_bytes, ring_bytes;
	/*
	 * Called when events are reported from now on: 0, or -1 with E.  NULL: no such function.
	 * If it STARTS_PROGRAM the process executes another program then, and nothing that it did
	 * before is of interest.
	 */
	int (*begun)(void *arg, struct err *e);
	bool starts_program;
	/*
	 * Called for each event, in their order, when its stack has names: 0, or -1 with E.  NULL:
	 * not.
	 */
	int (*show)(const struct trace_event *event, void *arg, struct err *e);
	/*
	 * Called when those that have come were shown: 1 where it is enough, -1 with E.  NULL: not.
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
		struct trace_program **v; /* the first is the program of the target */
		size_t nr, room;
	} programs;
	enum trace_why why;
	uint64_t duration_ns;
	uint64_t nr_events;			/* of the processes that were traced */
	uint64_t nr_lost;			/* records of all processes: the buffer was full */
	uint64_t nr_lost_threads;		/* whose events may not have been reported */
	uint64_t nr_unpaired;			/* calls whose beginning or return was lost */
	uint64_t nr_cut, nr_broken, nr_unknown; /* events by the ends of their stacks */
	/* RSS of the target; 0: not known */
	uint64_t rss_before_bytes, rss_after_bytes;
};

/*
 * Trace T.  SIGINT, SIGTERM and SIGHUP end it.  TRACE must be zeroed; the caller releases it,
 * whatever is returned.  0, or -1 with E: ERR_PERMISSION where the kernel does not let us.
 */
int trace_run(struct trace *trace, struct target *t, const struct trace_options *o, struct err *e);
void trace_release(struct trace *trace);
#define auto_trace __attribute__((cleanup(trace_release)))

#endif
