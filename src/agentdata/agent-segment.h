/*
 * agent-segment: the agent inside a process: whether it is loaded, where its variables are, and a
 * copy of the segment with its counters.
 */
#ifndef MEMDIAG_AGENTDATA_AGENT_SEGMENT_H
#define MEMDIAG_AGENTDATA_AGENT_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/raddr.h"
#include "wire/wire.h"

struct process;
struct target;

struct agent_segment {
	raddr object_at;	      /* where the agent's object begins; {0} if it is not loaded */
	raddr segment_at;	      /* its counters; {0} without any: it is transparent */
	raddr live_at;		      /* struct wire_live */
	raddr sites_at;		      /* struct wire_sites; {0} if nothing was sampled */
	raddr memory_at;	      /* struct wire_memory */
	raddr live_set_at;	      /* struct wire_live_blocks */
	struct wire_segment *segment; /* owned; a copy of these, followed by the threads */
	uint32_t nr_threads;	      /* places for threads in the copy; the first is shared */
	bool is_parents; /* of the process that forked this one, which counts only itself */
};

/*
 * Search the objects of P for the agent, and copy its counters.  Nothing is stopped.  C must be
 * zeroed or released.  0, also without an agent, or -1 with E and C released.
 */
int agent_segment_read(struct agent_segment *c, const struct process *p, struct err *e);
/* Copy the counters once more.  On failure C is unchanged. */
int agent_segment_read_again(struct agent_segment *c, const struct target *t, struct err *e);
void agent_segment_release(struct agent_segment *c);
#define auto_agent_segment __attribute__((cleanup(agent_segment_release)))

/* Return whether the agent counts at this moment. */
bool agent_segment_is_counting(const struct agent_segment *c);
/* Return whether a profile or a recording of this process, not of its parent, runs. */
bool agent_segment_is_noting(const struct agent_segment *c);

#endif
