/* host: a process and the agent in it, for starting and stopping a job. */
#ifndef MEMDIAG_AGENTCTL_HOST_H
#define MEMDIAG_AGENTCTL_HOST_H

#include "agentctl/allocator.h"
#include "agentdata/agent-segment.h"
#include "glibc/process.h"
#include "inject/hook.h"
#include "inject/malloc.h"
#include "wire/wire.h"

/* A process and the agent in it. */
struct host {
	const struct target *target;
	struct process process;
	bool is_other; /* malloc is not glibc's but OTHER's: then no arenas are known */
	struct allocator other;
	struct inject_target *callee;
	struct agent_segment agent;
};

/* Read all of it again from the start: more may be loaded than before.  0, or -1 with E. */
int host_look(struct host *s, struct err *e);
void host_release(struct host *s);
#define auto_host __attribute__((cleanup(host_release)))

/* Report of loading the agent. */
struct host_arrival {
	bool is_new; /* it was loaded just now */
	struct inject_report borrowed;
};

/*
 * Load the agent, which is the file AGENT, unless it is loaded, and read the process again.  0, or
 * -1 with E, also if the agent cannot work in it.
 */
int host_bring_agent(struct host *s, const struct inject_options *opt, const char *agent,
	struct host_arrival *ret, struct err *e);

/* Return what the agent records of blocks at this moment: nothing, samples, or all. */
static inline enum wire_noting
host_noting(const struct host *s)
{
	return s->agent.segment && !s->agent.is_parents ? (enum wire_noting)s->agent.segment->noting
							: WIRE_NOTE_NOTHING;
}

/*
 * Check before a job begins that no seccomp filter was added since the agent was loaded (IS_NEW:
 * just now), and lift hooks that a killed memdiag has left.
 */
int host_prepare(struct host *s, const struct inject_options *opt, bool is_new, struct err *e);

/* Return whether the program calls the agent by name, so that it needs no hooks. */
static inline bool
host_is_preloaded(const struct host *s)
{
	return s->agent.segment && s->agent.segment->way == WIRE_PRELOADED;
}

/*
 * Set the hooks of the wanted jobs, at least one.  Hooks that are set for other jobs change to
 * these, and no call misses both.  In a program that calls the agent by name a word is written, and
 * nothing is stopped.
 */
int host_set_hooks(struct host *s, bool counts, enum wire_noting noting,
	const struct inject_options *opt, struct hook_report *ret, struct inject_report *report,
	struct err *e);
/*
 * Set the hooks of the jobs that are left after one has ended, or lift them all.  Also works in a
 * process without counters: a child has its parent's hooks.
 */
int host_end_job(struct host *s, bool counts, enum wire_noting noting,
	const struct inject_options *opt, struct hook_report *ret, struct err *e);

/* Write [FROM, TO) of the segment, from the copy in S. */
int host_write(const struct host *s, size_t from, size_t to, struct err *e);

#endif
