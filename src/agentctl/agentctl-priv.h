/* agentctl-priv: what the files of agentctl/ share. */
#ifndef MEMDIAG_AGENTCTL_AGENTCTL_PRIV_H
#define MEMDIAG_AGENTCTL_AGENTCTL_PRIV_H

#include "agentctl/agentctl.h"
#include "glibc/process.h"

/* ---- allocator.c ---- */

/* A library whose malloc() a process uses instead of glibc's. */
struct allocator {
	struct inject_allocator inject; /* the first; its address is kept */
	struct inject_code code;
	struct inject_tls tls;
};

/*
 * Find that of P, if it is one that the agent can stand in front of while the process runs:
 * jemalloc, tcmalloc or mimalloc.  1; 0 if malloc is glibc's or another that is not examined here;
 * or -1 with E (ERR_UNSUPPORTED) if it is one of these, but not a plain library.
 */
int allocator_find(struct allocator *ret, const struct process *p, struct err *e);

/* The name of one of these that is linked into PROGRAM, by the symbols of its file; NULL. */
const char *allocator_in_program(const struct image *program);

/* ---- host.c ---- */

/* A process and the agent in it. */
struct host {
	const struct target *target;
	struct process process;
	bool is_other; /* malloc is not glibc's but OTHER's: no arenas are known then */
	struct allocator other;
	struct inject_target *it;
	struct counter counter;
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
	return s->counter.segment && !s->counter.is_parents
		? (enum wire_noting)s->counter.segment->noting
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
	return s->counter.segment && s->counter.segment->way == WIRE_PRELOADED;
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

struct target;

/* ---- large.c ---- */

/* Blocks with mappings of their own, as far as their headers were found. */
struct large_blocks {
	uint64_t nr, bytes;  /* of whole pages */
	uint64_t lead_bytes; /* of these, what lies before the headers of aligned blocks */
};

/*
 * Find those of T, which may stand; A are its arenas. True if all that could be was searched: what
 * was found is then complete if NR and BYTES are malloc's own account. Reads present pages only.
 */
bool large_blocks_find(struct large_blocks *ret, const struct target *t, const struct regions *m,
	const struct arenas *a);

#endif
