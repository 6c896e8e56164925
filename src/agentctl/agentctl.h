/*
 * agentctl: the agent inside a process: whether it is there, and what it has counted; how it comes
 * into one that runs already.
 */
#ifndef MEMDIAG_AGENTCTL_AGENTCTL_H
#define MEMDIAG_AGENTCTL_AGENTCTL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/raddr.h"
#include "glibc/arenas.h"
#include "inject/hook.h"
#include "wire/wire.h"

struct process;
struct target;

/* ---- what the agent of a process has counted ------------------------------------------------- */

struct counter {
	raddr agent;		      /* where the agent's object begins; {0}: it is not there */
	raddr segment_at;	      /* its counters; {0}: it has none, and is transparent */
	raddr live_at;		      /* struct wire_live */
	raddr sites_at;		      /* struct wire_sites; {0}: nothing was sampled */
	raddr memory_at;	      /* struct wire_memory */
	raddr live_set_at;	      /* struct wire_live_blocks */
	struct wire_segment *segment; /* owned; a copy of these, the threads behind it */
	uint32_t nr_threads; /* places for threads in the copy; the first is no thread's own */
	bool is_parents;     /* of the process that this one was forked from, which counts itself
				 * only */
};

/*
 * Look for the agent among the objects of P, and copy its counters.  Nothing is stopped.  C must be
 * zeroed or released. 0, also without an agent, or -1 with E and C released.
 */
int counter_read(struct counter *c, const struct process *p, struct err *e);
/* Copy them once more.  On failure C is as before. */
int counter_read_again(struct counter *c, const struct target *t, struct err *e);
void counter_release(struct counter *c);
#define auto_counter __attribute__((cleanup(counter_release)))

/* Whether the agent counts at this moment. */
bool counter_is_counting(const struct counter *c);

/* ---- the processes of one `memdiag run --follow-children` ------------------------------------ */

/* A program that ran in a process: one that becomes another has a member for each. */
struct family_member {
	pid_t pid; /* as it has it itself */
	bool is_running;
	char name[20]; /* of the program, as in /proc/PID/comm; untrusted */
	uint64_t started_ns;
	uint64_t nr_refused;
	struct wire_totals sum; /* what a child has from its parent is part of it */
};

struct family {
	struct family_member *v; /* owned; by their peak, the largest first */
	size_t nr, room;
	size_t nr_running;
	uint64_t nr_lost;    /* that are not here: there were too many */
	uint64_t live_bytes; /* of those that run */
	/*
	 * the most that all had together, at most; what children have from their parents counts
	 * once
	 */
	uint64_t peak_bytes;
	uint64_t nr_refused;
	int64_t limit_bytes; /* for all together; INT64_MAX: none */
};

/*
 * Make the file that they share, with a limit for all or INT64_MAX, into *RET_FD. 0, or -1 with E.
 */
int family_make(int *ret_fd, int64_t limit_bytes, struct err *e);
/* Read it. 0, or -1 with E; F is to be released in any case. */
int family_read(struct family *f, int fd, struct err *e);
/*
 * The counters of the program that process PID ran last, into COPY, which has room for all threads.
 */
bool family_segment(int fd, pid_t pid, struct wire_segment *copy);
/* Read that of the process T, O being its objects. 0, also if it is missing, or -1 with E. */
int family_find(struct family *f, const struct target *t, const struct objects *o, struct err *e);
void family_release(struct family *f);
#define auto_family __attribute__((cleanup(family_release)))

/* ---- counting in a process that runs --------------------------------------------------------- */

struct counting {
	bool was_so;	      /* it counted already, or did not: nothing was changed */
	enum wire_way way;    /* how the agent came there */
	bool is_new;	      /* the agent was loaded just now */
	bool has_no_before;   /* what was in use is not known: malloc is not glibc's */
	int64_t before_bytes; /* that was in use when it began; usable bytes */
	uint32_t nr_doubtful; /* blocks by which that may be wrong; UINT32_MAX: any */
	size_t nr_children;   /* forked while the agent was loaded: they may hang in dlopen() */
	pid_t child;	      /* one of them */
	struct hook_report hooked;
	/* the thread, for the hooks or else to load the agent; no tid: none */
	struct inject_report borrowed;
};

/*
 * Make T count what it allocates: load the agent, which is the file AGENT, unless it is there; hook
 * malloc and related functions for all callers, of glibc's malloc or of jemalloc, tcmalloc or
 * mimalloc as a library; find out how much is in use, but for the latter three.  MAX_STOP_NS as of
 * heap_read().  0, or -1 with E; nothing is hooked then.
 */
int counting_start(const struct target *t, const struct inject_options *opt, uint64_t max_stop_ns,
	const char *agent, struct counting *ret, struct err *e);

/* Put back every byte that counting_start() has changed outside the agent.  0, or -1 with E. */
int counting_stop(const struct target *t, const struct inject_options *opt, struct counting *ret,
	struct err *e);

/* ---- sampling in a process that runs --------------------------------------------------------- */

#define PROFILING_LEAST_BYTES (UINT64_C(8) << 20)
struct profiling_wanted {
	uint64_t period_bytes; /* take one sample for so many bytes; 0: record all blocks */
	struct wire_triggers triggers;
	uint64_t log_bytes; /* of a record: how large its log may get (wire/log.h); 0: none */
	/*
	 * That it may take, threads excepted: PROFILING_LEAST_BYTES or more of a record; 0: any
	 * number, or half of what is left below the memory limits of the target's cgroups.
	 */
	uint64_t max_bytes;
	enum wire_live_set live_set;
	bool opens_log; /* all is appended to it, from the first block on */
};

struct profiling {
	bool was_so;	       /* it did so already, or did not: nothing was changed */
	bool is_new;	       /* the agent was loaded just now */
	bool keeps_memory;     /* it ended, but could not be asked to give back what it takes */
	uint64_t period_bytes; /* as wanted */
	/* it takes no more than this, as so much is left below a limit of its cgroups; 0: any */
	uint64_t max_bytes, room_bytes;
	const char *limit_name;
	struct wire_triggers triggers;
	size_t nr_children; /* as in struct counting */
	pid_t child;
	struct hook_report hooked;
	struct inject_report borrowed;
};

/*
 * Make T note what it allocates as WANTED: load the agent, which is the file AGENT, unless it is
 * there, and hook malloc and related functions for all callers.  *RET_FD is the file that the sites
 * are noted in (sites_read_file()), and the log behind them, for the caller to close; -1 if it did
 * so already.  0, or -1 with E; nothing is hooked then.
 */
int profiling_start(const struct target *t, const struct inject_options *opt,
	const struct profiling_wanted *wanted, const char *agent, struct profiling *ret,
	int *ret_fd, struct err *e);

/*
 * End it, with a PERIOD_BYTES of 0 a record: what was noted can be read until the next start.  0,
 * or -1 with E, also if it is the other one that runs.
 */
int profiling_stop(const struct target *t, const struct inject_options *opt, uint64_t period_bytes,
	struct profiling *ret, struct err *e);

#endif
