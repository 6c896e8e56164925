/*
 * options: the options of 'memdiag profile' and 'memdiag record', for the code that does the work:
 * cmd/noting.c with the agent's sampler and recorder, profile-jemalloc.c with jemalloc's own
 * profiler.
 */
#ifndef MEMDIAG_CAPTURE_OPTIONS_H
#define MEMDIAG_CAPTURE_OPTIONS_H

#include "capture/captured.h"
#include "capture/other.h"
#include "inject/malloc.h"
#include "jemalloc/find.h"
#include "os/os.h"
#include "ui/ui.h"
#include "wire/sites.h"
#include "wire/wire.h"

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

struct profile_options {
	struct ui_options ui;
	struct inject_options inject;
	enum malloc_choice malloc;
	bool by_agent; /* the agent takes the samples, even where jemalloc could */
	enum profile_verb verb;
	bool has_verb, has_period;
	enum wire_capture capture;
	uint64_t period_bytes; /* of samples */
	uint64_t seconds_ns;   /* 0: not given */
	const char *prefix;    /* of the file's name */
	bool symbols_inside;
	bool at_exit; /* sample until the process ends */
	struct trigger_options triggers;
	struct overhead_options overhead; /* of a record */
	enum record_mode mode;		  /* of a record */
	bool has_mode;
	uint32_t files; /* of a log, to keep; 0: not given */
};

/* Do what OPT requests in T, whose process is P.  0, or -1 with E. */
int profile_jemalloc(struct target *t, struct profile_other *p, const struct profile_options *opt,
	struct profiled *ret, struct err *e);

#endif
