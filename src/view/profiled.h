/*
 * profiled: a profile that was begun, ended or written, for people and as JSON.
 */
#ifndef MEMDIAG_VIEW_PROFILED_H
#define MEMDIAG_VIEW_PROFILED_H

#include <limits.h>
#include <stdio.h>

#include "agentctl/agentctl.h"
#include "agentctl/sites.h"
#include "jemalloc/jemalloc.h"
#include "capture/wait.h"
#include "ui/ui.h"
#include "view/logged.h"
#include "wire/sites.h"

enum profile_verb { PROFILE_ONE_SHOT, PROFILE_START, PROFILE_STOP, PROFILE_DUMP, PROFILE_STATUS };

struct profiled {
	enum profile_verb verb;
	struct profiling job;
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

/* Print P, of T.  0, or -1 with E. */
int profiled_print(
	const struct profiled *p, const struct target *t, const struct ui_options *opt, FILE *f);
int profiled_print_json(
	const struct profiled *p, const struct target *t, struct ui_output *out, struct err *e);

#endif
