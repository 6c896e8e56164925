/*
 * job: work in a borrowed thread of the target, or in a thread that it makes for the work, and the
 * memory for it.
 */
#ifndef MEMDIAG_INJECT_JOB_H
#define MEMDIAG_INJECT_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "base/err.h"
#include "base/raddr.h"
#include "glibc/arenas.h"
#include "inject/malloc.h"
#include "inject/worker.h"

struct inject_target;

/* Names of the modes, in that order, with NULL at the end. */
extern const char *const inject_mode_name[];

/* Our memory in the target. */
struct workspace {
	raddr start;
	uint64_t size_bytes;
	raddr stack_top; /* end of a stack for calls */
	raddr data;	 /* a page for the arguments of calls */
	raddr buffer;	 /* output of malloc_info */
	uint64_t buffer_bytes;
};

#define LONG_CALL_NEXT_BYTES (UINT64_C(1024) + ARCH_MAX_EXT_BYTES)
#define LONG_CALL_STACK_BYTES UINT64_C(131072)

/* Work in the target; the caller fills the first members. */
struct job {
	struct inject_target *callee;
	const struct inject_options *opt;
	struct inject_report *report;
	uint64_t buffer_bytes; /* of the workspace */
	uint64_t needed_bytes; /* memory that the target must have left; 0: what a call takes */
	bool is_loading;       /* not for a borrowed thread, if the target has others */
	unsigned int needs;    /* its system calls (inject/needs.h) */
	/*
	 * Do the work.  The worker is stopped, with its undo list laid, and must be left stopped
	 * before that list; or running back (stop is OS_STOP_TIMEOUT), or gone.
	 */
	int (*run)(struct job *job, struct worker *c, const struct workspace *ws, struct err *e);
	void *arg;	      /* for RUN */
	uint64_t deadline_ns; /* for what RUN does */
	int status;
	struct err *e;
};

/* Run JOB in the target, whose arenas are A. */
int job_run(struct job *job, const struct arenas *a, struct err *e);

#endif
