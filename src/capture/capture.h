/*
 * capture: the taking of a profile or a record from a process: how it begins, is watched and ends,
 * and its samples as a profile.
 *
 * This header has the options and the result of a capture by 'memdiag profile' and 'memdiag
 * record': cmd/capture-work.c uses the agent's sampler and recorder, profile-jemalloc.c jemalloc's
 * own profiler.
 */
#ifndef MEMDIAG_CAPTURE_CAPTURE_H
#define MEMDIAG_CAPTURE_CAPTURE_H

#include <limits.h>
#include <stdbool.h>

#include "agentctl/sampler-job.h"
#include "agentdata/sites.h"
#include "capture/wait.h"
#include "inject/malloc.h"
#include "jemalloc/find.h"
#include "jemalloc/prof.h"
#include "ui/ui.h"
#include "ui/warnings.h"
#include "wire/log.h"
#include "wire/sites.h"
#include "wire/wire.h"

/* The log of a record, and its writer. */
struct log_state {
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

enum capture_verb { CAPTURE_ONE_SHOT, CAPTURE_START, CAPTURE_STOP, CAPTURE_DUMP, CAPTURE_STATUS };

/* The profiles that --push has sent. */
struct capture_pushes {
	bool is_any; /* --push was given */
	uint64_t nr_accepted, nr_retries, nr_refused, nr_dropped;
};

/* The result of one verb: a capture that was started, stopped or written, or its state. */
struct capture_result {
	enum capture_verb verb;
	struct sampler_job job;
	enum capture_wait wait; /* of a one shot: the reason for its end */
	bool has_ended;		/* the process, or the program in it, ended before the profile */
	char became[64];     /* new name of the process if it executed another program, else "" */
	char path[PATH_MAX]; /* of the written file; "" if nothing was written */
	bool is_record;	     /* of all blocks, not of samples */
	struct wire_sites head; /* of the recorded sites; its magic is 0 without any */
	struct sites_sum sum;
	bool is_sampling;  /* CAPTURE_STATUS: it is running */
	bool is_otherwise; /* the other command's: of a record, a profile is running */
	/* jemalloc's own profiler; of JOB only was_so, period_bytes and borrowed are valid then */
	bool is_jemalloc;
	struct jemalloc_prof prof; /* its previous state */
	struct log_state log;	   /* of a record */
	const char *log_file;	   /* the only file of the log; NULL if not exactly one */
	struct warnings warnings;  /* owned */
	struct capture_pushes pushes;
	uint64_t taken_bytes; /* resident memory that the sampler takes in the process */
};

/* Conditions for writing files of a profile while the program runs. */
struct trigger_options {
	struct wire_triggers wanted;
	bool is_any; /* one of these was given */
};

/* The memory that a record takes; zeroed at first. */
struct overhead_options {
	bool is_any;
	uint64_t max_bytes; /* --max-overhead; 0: any */
	enum wire_live_set live_set;
};

enum record_mode {
	RECORD_MEM_FAST, /* sums by site, in memory */
	RECORD_LOG_FAST, /* and each event in files */
	RECORD_CLOSED,	 /* nothing */
};

struct capture_options {
	struct ui_options ui;
	struct inject_options inject;
	enum malloc_choice malloc;
	bool by_agent; /* the agent takes the samples, even where jemalloc could */
	enum capture_verb verb;
	bool has_verb, has_period;
	enum wire_capture capture;
	uint64_t period_bytes; /* of samples */
	uint64_t seconds_ns;   /* 0: not given */
	const char *prefix;    /* of the file's name */
	bool symbols_inside;
	bool at_exit;	 /* sample until the process ends */
	bool is_endless; /* --seconds may lack, as samples are pushed */
	struct trigger_options triggers;
	struct overhead_options overhead; /* of a record */
	enum record_mode mode;		  /* of a record */
	bool has_mode;
	uint32_t files; /* of a log, to keep; 0: not given */
};

#endif
