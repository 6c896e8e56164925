/* sampler-memory: the memory that the sampler takes in a process. */
#ifndef MEMDIAG_AGENTDATA_SAMPLER_MEMORY_H
#define MEMDIAG_AGENTDATA_SAMPLER_MEMORY_H

#include "agentdata/agent-segment.h"
#include "base/err.h"
#include "wire/memory.h"

struct sampler_memory {
	bool is_there;	  /* false: nothing was ever sampled */
	bool is_sampling; /* samples are taken now */
	bool is_partial;  /* the agent could not record all of its memory */
	uint64_t resident_bytes[WIRE_NR_MEMORY_KINDS];
	uint64_t total_bytes; /* resident, of all kinds */
};

/*
 * Measure it in P, whose counters are C.  Nothing is stopped.  0, or -1 with E: ERR_UNSUPPORTED if
 * the agent's list is damaged, or the kernel's data on pages cannot be read.
 */
int sampler_memory_read(struct sampler_memory *m, const struct process *p,
	const struct agent_segment *c, struct err *e);

#endif
