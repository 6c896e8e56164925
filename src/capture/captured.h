/* captured: a profile or a record that was started, stopped or written, and its log. */
#ifndef MEMDIAG_CAPTURE_CAPTURED_H
#define MEMDIAG_CAPTURE_CAPTURED_H

#include <limits.h>
#include <stdbool.h>

#include "agentctl/sampler-job.h"
#include "agentctl/sites.h"
#include "capture/wait.h"
#include "jemalloc/prof.h"
#include "ui/warnings.h"
#include "wire/log.h"
#include "wire/sites.h"

/* The log of a record, and its writer. */
struct logged {
	bool is_there;		     /* a log exists */
	bool is_open;		     /* events are appended to it */
	bool is_written;	     /* by the process in SAID */
	bool is_cut;		     /* it was ended before its writer had written all of it */
	struct wire_log_writer said; /* untrusted, except that its text ends with a NUL */
	bool has_rounds;	     /* its writer has made a round */
	uint64_t round_age_ns;	     /* age of the last round */
	uint64_t nr_dropped, dropped_bytes;
	uint64_t nr_missing; /* if it is cut: events that are not in files, at most */
};

enum profile_verb { PROFILE_ONE_SHOT, PROFILE_START, PROFILE_STOP, PROFILE_DUMP, PROFILE_STATUS };

struct profiled {
	enum profile_verb verb;
	struct sampler_job job;
	enum profile_wait wait; /* of a one shot: the reason for its end */
	bool has_ended;		/* the process, or the program in it, ended before the profile */
	char became[64];     /* new name of the process if it executed another program, else "" */
	char path[PATH_MAX]; /* of the written file; "" if nothing was written */
	bool is_record;	     /* of all blocks, not of samples */
	struct wire_sites head; /* of the recorded sites; its magic is 0 without any */
	struct sites_sum sum;
	bool is_sampling;  /* PROFILE_STATUS: it is running */
	bool is_otherwise; /* the other command's: of a record, a profile is running */
	/* jemalloc's own profiler; of JOB only was_so, period_bytes and borrowed are valid then */
	bool is_jemalloc;
	struct jemalloc_prof prof; /* its previous state */
	struct logged log;	   /* of a record */
	const char *log_file;	   /* the only file of the log; NULL if not exactly one */
	struct warnings warnings;  /* owned */
	uint64_t taken_bytes;	   /* resident memory that the sampler takes in the process */
};

#endif
