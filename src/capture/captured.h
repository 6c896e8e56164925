/*
 * captured: a profile or a record that was begun, ended or written, and its log.
 */
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
	bool is_there;		     /* there is a log */
	bool is_open;		     /* events are appended to it */
	bool is_written;	     /* by the process that SAID names */
	bool is_cut;		     /* it was ended, and its writer did not write all of it */
	struct wire_log_writer said; /* not trusted, but for a NUL at the end of its text */
	bool has_rounds;	     /* its writer has made one */
	uint64_t round_age_ns;	     /* how long ago the last one was */
	uint64_t nr_dropped, dropped_bytes;
	uint64_t nr_missing; /* of one that is cut: events that are not in files, or more */
};

enum profile_verb { PROFILE_ONE_SHOT, PROFILE_START, PROFILE_STOP, PROFILE_DUMP, PROFILE_STATUS };

struct profiled {
	enum profile_verb verb;
	struct sampler_job job;
	enum profile_wait wait; /* of a one shot: what ended it */
	bool has_ended;	     /* the process, or the program in it, before the profile was ended */
	char became[64];     /* what the process is called as another program; "": it is not one */
	char path[PATH_MAX]; /* of the file that was written; "": none */
	bool is_record;	     /* of all blocks, and not of samples */
	struct wire_sites head; /* what was noted; its magic is 0 if nothing was */
	struct sites_sum sum;
	bool is_sampling;  /* PROFILE_STATUS: it goes on */
	bool is_otherwise; /* and it is the other command's: of a record a profile goes on */
	/* jemalloc's own profiler; of JOB only was_so, period_bytes and borrowed are meant then */
	bool is_jemalloc;
	struct jemalloc_prof prof; /* as it was before */
	struct logged log;	   /* of a record */
	const char *log_file;	   /* all of it, among others in its directory; NULL: not so */
	struct warnings warnings;  /* owned */
	uint64_t taken_bytes;	   /* resident memory that the sampler takes in the process */
};

#endif
