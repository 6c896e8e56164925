/* stacks: the present stack of every thread of a process, as a profile of stacks. */
#ifndef MEMDIAG_CAPTURE_STACKS_H
#define MEMDIAG_CAPTURE_STACKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "capture/stack-walks.h"
#include "glibc/process.h"
#include "profile/profile.h"

struct stacks_options {
	const pid_t *tid; /* the requested threads */
	size_t nr_tids;	  /* 0 for all threads */
	uint64_t max_stop_ns;
	bool without_lines; /* functions only from symbol tables, which are read faster */
};

struct stacks_thread {
	pid_t tid;
	uint32_t stack;	   /* number in the profile; threads with the same stack are adjacent */
	uint32_t thread_1; /* number in the profile; its name is the kernel's */
	enum stacks_end end;
};

struct stacks {
	struct profile *p; /* its one type is "threads"; one sample for each thread */
	struct {
		struct stacks_thread *v; /* by stack, in the order of each stack's first thread */
		size_t nr, room;
	} threads;
	struct stacks_marks marks;
	uint64_t nr_stops, stopped_ns, longest_ns;
	size_t nr_late;	 /* threads that could not be stopped */
	struct err late; /* the reason for the first one */
};

/*
 * Stop each thread of PROCESS separately, for the time that a copy of its stack takes or, if that
 * is not enough, a walk; then name all frames.  Threads that end meanwhile are left out.  S must be
 * zeroed; the caller releases it in any case.  0, or -1 with E: ERR_GONE if a requested thread does
 * not exist, ERR_UNSUPPORTED for another processor's program.
 */
int stacks_read(struct stacks *s, const struct process *process, const struct stacks_options *o,
	struct err *e);
void stacks_release(struct stacks *s);
#define auto_stacks __attribute__((cleanup(stacks_release)))

#endif
