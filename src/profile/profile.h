/*
 * profile: the agent inside a process: whether it is there, and what it has counted; how it comes into
 * one that runs already.
 * May use: wire/, heap/, inject/, maps/, elf/, os/, base/.
 */
#ifndef MEMDIAG_PROFILE_PROFILE_H
#define MEMDIAG_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/raddr.h"
#include "inject/inject.h"
#include "maps/maps.h"
#include "os/os.h"
#include "wire/wire.h"

/* ---- what the agent of a process has counted ---------------------------------------------------- */

struct counter {
	raddr agent;		/* where the agent's object begins; {0}: it is not there */
	raddr segment_at;	/* its counters; {0}: it has none, and is transparent */
	raddr live_at;		/* struct wire_live */
	struct wire_segment *segment;	/* owned; a copy of these, the threads behind it */
	uint32_t nr_threads;	/* places for threads in the copy; the first is no thread's own */
	bool is_parents;	/* of the process that this one was forked from, which counts itself
				 * only */
};

/*
 * Look for the agent among the objects O of T, and copy its counters.  Nothing is stopped.  That there
 * is no agent is no failure.  C must be zeroed or released.  0, or -1 with E and C released.
 */
int counter_read(struct counter *c, const struct target *t, const struct maps *m,
	const struct objects *o, struct err *e);
/* Copy them once more.  On failure C is as before. */
int counter_read_again(struct counter *c, const struct target *t, struct err *e);
void counter_release(struct counter *c);
#define auto_counter __attribute__((cleanup(counter_release)))

/* Whether the agent counts at this moment. */
bool counter_is_counting(const struct counter *c);

/* ---- counting in a process that runs ------------------------------------------------------------- */

struct counting {
	bool was_so;		/* it counted already, or did not: nothing was changed */
	enum wire_way way;	/* how the agent came there */
	bool is_new;		/* the agent was loaded just now */
	int64_t before_bytes;	/* that was in use when it began; usable bytes */
	uint32_t nr_doubtful;	/* blocks by which that may be wrong; UINT32_MAX: any */
	struct inject_hooked hooked;
	struct inject_report borrowed;	/* the thread, for the hooks or else to load the agent; no tid: none */
};

/*
 * Make T count what it allocates: load the agent, which is the file AGENT, unless it is there; hook
 * malloc and its kin for all callers; find out how much is in use.  MAX_STOP_NS as of heap_read().
 * 0, or -1 with E; nothing is hooked then.
 */
int counting_start(const struct target *t, const struct inject_options *opt, uint64_t max_stop_ns,
	const char *agent, struct counting *ret, struct err *e);

/* Put back every byte that counting_start() has changed outside the agent.  0, or -1 with E. */
int counting_stop(const struct target *t, const struct inject_options *opt, struct counting *ret,
	struct err *e);

#endif
