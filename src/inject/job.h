/*
 * job: work in a borrowed thread of the target, or in one that it makes for that, and the memory it
 * takes.
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

/* Their names, in that order, NULL at the end. */
extern const char *const inject_mode_name[];

/* Memory of our own in the target. */
struct workspace {
	raddr start;
	uint64_t size_bytes;
	raddr stack_top; /* a stack for calls ends here */
	raddr data;	 /* a page for what calls are given */
	raddr buffer;	 /* what malloc_info writes */
	uint64_t buffer_bytes;
};

#define LONG_CALL_NEXT_BYTES (UINT64_C(1024) + ARCH_MAX_EXT_BYTES)
#define LONG_CALL_STACK_BYTES UINT64_C(131072)

/* Work that is done in the target; the first members are the caller's to fill. */
struct job {
	struct inject_target *callee;
	const struct inject_options *opt;
	struct inject_report *report;
	uint64_t buffer_bytes; /* of the workspace */
	uint64_t needed_bytes; /* memory that the target must have left; 0: what a call takes */
	bool is_loading;       /* not for a borrowed thread, if the target has others */
	unsigned int needs;    /* the system calls that it takes (inject/needs.h) */
	/*
	 * Do it.  The worker comes stopped, with its undo list laid, and leaves stopped in front
	 * of that list; or running back (stop is OS_STOP_TIMEOUT), or gone.
	 */
	int (*run)(struct job *job, struct worker *c, const struct workspace *ws, struct err *e);
	void *arg;	      /* run's own */
	uint64_t deadline_ns; /* of what RUN does */
	int status;
	struct err *e;
};

/* Have it done in the target, whose arenas are A. */
int job_run(struct job *job, const struct arenas *a, struct err *e);

#endif
