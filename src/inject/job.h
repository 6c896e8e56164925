/*
 * job: work in a borrowed thread of the target, or in one that it makes for that, and the memory it
 * takes.
 */
#ifndef MEMDIAG_INJECT_JOB_H
#define MEMDIAG_INJECT_JOB_H

#include "inject/worker.h"

/* Memory of our own in the target. */
struct workspace {
	raddr start;
	uint64_t size_bytes;
	raddr stack_top; /* a stack for calls ends here */
	raddr data;	 /* a page for what calls are given */
	raddr buffer;	 /* what malloc_info writes */
	uint64_t buffer_bytes;
};

/* Have C map a workspace with room for BUFFER_BYTES; unmapping it is put on the undo list. */
int workspace_map(struct worker *c, struct workspace *ws, uint64_t buffer_bytes,
	uint64_t deadline_ns, struct err *e);

/* A call that may take long, with locks of libc held. */
struct long_call {
	const char *name;
	raddr fn;
	uint64_t arg[ARCH_MAX_ARGS];
	size_t nr_args;
	/*
	 * Calls that C makes right after it, without a stop in between: for many short ones. Their
	 * frames, and the stack of all, go below NEXT_ROOM, LONG_CALL_NEXT_BYTES for each and
	 * LONG_CALL_STACK_BYTES.  Not where the call is the last.
	 */
	const struct next_call *next;
	size_t nr_next;
	raddr next_room;
	bool holds_more; /* it has other locks while it waits for an arena's */
	bool is_last;	 /* there is nothing more to do for us afterwards */
	uint64_t deadline_ns;
};

#define LONG_CALL_NEXT_BYTES (UINT64_C(1024) + ARCH_MAX_EXT_BYTES)
#define LONG_CALL_STACK_BYTES UINT64_C(131072)

/*
 * Have C make it.  Afterwards C is stopped, its undo list as before; or, if the call was its last,
 * it may have ended or be back in the program (is_ours is false).  *RET_NS: how long it took.
 */
int long_call_make(const struct long_call *call, struct worker *c, const struct workspace *ws,
	uint64_t *ret_ns, struct err *e);

/* Work that is done in the target; the first members are the caller's to fill. */
struct job {
	struct inject_target *it;
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
