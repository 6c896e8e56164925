/* count-job: start and stop counting in a running process. */
#ifndef MEMDIAG_AGENTCTL_COUNT_JOB_H
#define MEMDIAG_AGENTCTL_COUNT_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "inject/hook.h"
#include "inject/malloc.h"
#include "wire/wire.h"

struct target;

struct count_job {
	bool was_so;	      /* it counted already, or did not count: nothing was changed */
	enum wire_way way;    /* how the agent was loaded */
	bool is_new;	      /* the agent was loaded just now */
	bool has_no_before;   /* the bytes in use before are unknown: malloc is not glibc's */
	int64_t before_bytes; /* in use when counting began; usable bytes */
	uint32_t nr_doubtful; /* blocks by which that may be wrong; UINT32_MAX: any number */
	size_t nr_children;   /* forked while the agent was loaded: they may hang in dlopen() */
	pid_t child;	      /* one of them */
	struct hook_report hooked;
	/*
	 * the thread borrowed for the hooks, or else to load the agent; tid is 0 if no thread was
	 */
	struct inject_report borrowed;
};

/*
 * Make T count what it allocates: load the agent, which is the file AGENT, unless it is loaded;
 * hook malloc and related functions for all callers, of glibc's malloc or of jemalloc, tcmalloc or
 * mimalloc as a library; determine how much is in use, except for the latter three.  MAX_STOP_NS as
 * in heap_read().  0, or -1 with E; nothing is hooked then.
 */
int count_job_start(const struct target *t, const struct inject_options *opt, uint64_t max_stop_ns,
	const char *agent, struct count_job *ret, struct err *e);

/* Restore every byte that count_job_start() has changed outside the agent.  0, or -1 with E. */
int count_job_stop(const struct target *t, const struct inject_options *opt, struct count_job *ret,
	struct err *e);

#endif
