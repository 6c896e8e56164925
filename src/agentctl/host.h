/*
 * host: a process and the agent in it, as one that begins or ends a job needs them.
 */
#ifndef MEMDIAG_AGENTCTL_HOST_H
#define MEMDIAG_AGENTCTL_HOST_H

#include "agentctl/agent-segment.h"
#include "agentctl/allocator.h"
#include "glibc/process.h"
#include "inject/hook.h"
#include "inject/malloc.h"
#include "wire/wire.h"

/* A process and the agent in it. */
struct host {
	const struct target *target;
	struct process process;
	bool is_other; /* malloc is not glibc's but OTHER's: no arenas are known then */
	struct allocator other;
	struct inject_target *callee;
	struct agent_segment agent;
};

/* Read all of it, anew: what is loaded may be more than before.  0, or -1 with E. */
int host_look(struct host *s, struct err *e);
void host_release(struct host *s);
#define auto_host __attribute__((cleanup(host_release)))

/* How the agent came there. */
struct host_arrival {
	bool is_new; /* it was loaded just now */
	struct inject_report borrowed;
};

/*
 * Load the agent, which is the file AGENT, unless it is there, and look again.  0, or -1 with E,
 * also if it cannot be of use.
 */
int host_bring_agent(struct host *s, const struct inject_options *opt, const char *agent,
	struct host_arrival *ret, struct err *e);

/* How the agent notes blocks at this moment: not at all, samples, or all. */
static inline enum wire_noting
host_noting(const struct host *s)
{
	return s->agent.segment && !s->agent.is_parents ? (enum wire_noting)s->agent.segment->noting
							: WIRE_NOTE_NOTHING;
}

/*
 * Before a job begins: a filter may have come since the agent was loaded (IS_NEW: just now), and a
 * memdiag that was killed may have left hooks.
 */
int host_prepare(struct host *s, const struct inject_options *opt, bool is_new, struct err *e);

/* Whether the program calls the agent by name, and no hooks are set for it. */
static inline bool
host_is_preloaded(const struct host *s)
{
	return s->agent.segment && s->agent.segment->way == WIRE_PRELOADED;
}

/*
 * Set the hooks of the jobs that there are to be, one at least.  Those that are set for other jobs
 * change to these, and no call goes past both.  In a program that calls the agent by name a word is
 * written, and nothing is stopped.
 */
int host_set_hooks(struct host *s, bool counts, enum wire_noting noting,
	const struct inject_options *opt, struct hook_report *ret, struct inject_report *report,
	struct err *e);
/*
 * A job has ended: the same for the jobs that are left, or none.  Also without counters of its own:
 * a child has its parent's hooks.
 */
int host_end_job(struct host *s, bool counts, enum wire_noting noting,
	const struct inject_options *opt, struct hook_report *ret, struct err *e);

/* Write [FROM, TO) of the segment, as the copy in S has it. */
int host_write(const struct host *s, size_t from, size_t to, struct err *e);

#endif
