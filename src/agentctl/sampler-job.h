/*
 * sampler-job: start and stop the sampler, which takes samples or records all blocks, in a running
 * process.
 */
#ifndef MEMDIAG_AGENTCTL_SAMPLER_JOB_H
#define MEMDIAG_AGENTCTL_SAMPLER_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agentdata/sites.h"
#include "base/err.h"
#include "inject/hook.h"
#include "inject/malloc.h"
#include "wire/sites.h"
#include "wire/wire.h"

struct target;

#define SAMPLER_RECORD_LEAST_BYTES (UINT64_C(8) << 20)
struct sampler_wanted {
	enum wire_capture capture;
	uint64_t period_bytes; /* of a profile: the bytes for one sample */
	struct wire_triggers triggers;
	uint64_t log_bytes; /* of a record: maximum size of its log (wire/log.h); 0: no log */
	/*
	 * Memory that it may take, excluding threads: at least SAMPLER_RECORD_LEAST_BYTES for a
	 * record; 0: any number, or half of what is left below the memory limits of the target's
	 * cgroups.
	 */
	uint64_t max_bytes;
	enum wire_live_set live_set;
	bool opens_log; /* all events are appended to it, from the first block on */
};

struct sampler_job {
	bool was_so;	       /* it was running already, or was not running: nothing was changed */
	bool is_new;	       /* the agent was loaded just now */
	bool keeps_memory;     /* it ended, but could not be made to free its memory */
	uint64_t period_bytes; /* as requested; of a profile */
	/* its limit, from the room left below a limit of its cgroups; 0: unlimited */
	uint64_t max_bytes, room_bytes;
	const char *limit_name;
	struct wire_triggers triggers;
	size_t nr_children; /* as in struct count_job */
	pid_t child;
	struct hook_report hooked;
	struct inject_report borrowed;
};

/*
 * Make T record what it allocates as WANTED: load the agent, which is the file AGENT, unless it is
 * loaded, and hook malloc and related functions for all callers. *RET_FD is the file that contains
 * the sites (sites_read_file()) and, after them, the log; the caller closes it; -1 if it was
 * recording already.  0, or -1 with E; nothing is hooked then.
 */
int sampler_job_start(const struct target *t, const struct inject_options *opt,
	const struct sampler_wanted *wanted, const char *agent, struct sampler_job *ret,
	int *ret_fd, struct err *e);

/*
 * End CAPTURE: its sites can be read until the next start.  0, or -1 with E, also if the other
 * capture is running.
 */
int sampler_job_stop(const struct target *t, const struct inject_options *opt,
	enum wire_capture capture, struct sampler_job *ret, struct err *e);

/* Count in T, which C was read from, one more file as written.  0, or -1 with E. */
int sampler_job_count_dump(const struct sites_copy *c, const struct target *t, struct err *e);

#endif
