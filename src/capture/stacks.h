/*
 * stacks: where every thread of a process is right now, as a profile of stacks.
 */
#ifndef MEMDIAG_CAPTURE_STACKS_H
#define MEMDIAG_CAPTURE_STACKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "capture/walked.h"
#include "glibc/process.h"
#include "profile/profile.h"

struct stacks_options {
	const pid_t *tid; /* the threads asked for */
	size_t nr_tids;	  /* 0: all of them */
	uint64_t max_stop_ns;
	bool without_lines; /* functions by tables of symbols, which are read faster */
};

struct stacks_thread {
	pid_t tid;
	uint32_t stack;	   /* of the profile; threads with the same stack follow each other */
	uint32_t thread_1; /* of the profile; its name is as the kernel has it */
	enum stacks_end end;
};

struct stacks {
	struct profile *p; /* its one type is "threads"; a sample for each */
	struct {
		struct stacks_thread *v; /* by stack, in the order of each stack's first thread */
		size_t nr, room;
	} threads;
	struct stacks_marks marks;
	uint64_t nr_stops, stopped_ns, longest_ns;
	size_t nr_late;	 /* threads that could not be stopped */
	struct err late; /* why, of the first one */
};

/*
 * Stop each thread of PROCESS by itself for the time that a copy of its stack takes, or where that
 * is not enough, a walk; then name all frames.  Threads that end meanwhile are left out.  S must be
 * zeroed; the caller releases it, whatever is returned.  0, or -1 with E: ERR_GONE if a thread that
 * was asked for does not exist, ERR_UNSUPPORTED for another processor's program.
 */
int stacks_read(struct stacks *s, const struct process *process, const struct stacks_options *o,
	struct err *e);
void stacks_release(struct stacks *s);
#define auto_stacks __attribute__((cleanup(stacks_release)))

#endif
