/* live-set: the individual blocks that a record or a profile of a process has as live. */
#ifndef MEMDIAG_AGENTDATA_LIVE_SET_H
#define MEMDIAG_AGENTDATA_LIVE_SET_H

#include "agentdata/agent-segment.h"
#include "base/err.h"
#include "base/raddr.h"

struct live_block {
	raddr at;
	uint64_t bytes; /* as requested; 0 if it was sampled: unknown */
	uint32_t site;
};

struct live_set {
	struct live_block *v; /* sorted by address */
	size_t nr, room;
};

/*
 * Read the live blocks of P, whose counters are C and whose record or profile has NR_SITES sites.
 * Nothing is stopped: a block that is allocated or freed meanwhile may be included or not.  S must
 * be zeroed, and must be released in any case.  0, or -1 with E: ERR_UNSUPPORTED if the agent is
 * another memdiag's.
 */
int live_set_read(struct live_set *s, const struct process *p, const struct agent_segment *c,
	uint32_t nr_sites, struct err *e);
void live_set_release(struct live_set *s);
#define auto_live_set __attribute__((cleanup(live_set_release)))

#endif
