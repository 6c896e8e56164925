/*
 * prof: jemalloc's own profiler: switched on and off, and its dumps.
 */
#ifndef MEMDIAG_JEMALLOC_PROF_H
#define MEMDIAG_JEMALLOC_PROF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "inject/malloc.h"
#include "inject/target.h"
#include "jemalloc/jemalloc.h"

/* ---- its profiler ---------------------------------------------------------------------------- */

struct jemalloc_prof {
	char version[64];
	bool is_built_in;	/* config.prof */
	bool is_enabled;	/* opt.prof: it was started so */
	bool is_active;		/* prof.active: samples are taken */
	bool skips_new_threads; /* prof.thread_active_init is false */
	bool accumulates;	/* opt.prof_accum: freed blocks are in its files, too */
	/* opt.prof_gdump, opt.prof_final, opt.prof_leak: it also writes files by itself */
	bool dumps_at_peak, dumps_at_exit, reports_leaks;
	uint64_t period_bytes;	 /* between two samples, on average */
	uint64_t interval_bytes; /* between two files that it writes by itself; 0: none */
	char prefix[64];	 /* of their names; printable */
};

enum jemalloc_prof_verb {
	JEMALLOC_PROF_READ,
	JEMALLOC_PROF_CHECK, /* the same, but a failure if it cannot be profiled */
	JEMALLOC_PROF_START, /* forget what was noted, and take samples from now on */
	JEMALLOC_PROF_STOP,
};

/*
 * Do VERB in CALLEE, and report in BEFORE how it was: START changes nothing if samples are taken
 * already, STOP if they are not.  START takes one sample for 2^LG_PERIOD bytes; JEMALLOC_UNKNOWN:
 * for as many as before.  ERR_UNSUPPORTED, with what is to be set, when this jemalloc has no
 * profiling or the program was started without it; not for READ.
 */
int jemalloc_prof_do(const struct jemalloc *j, struct inject_target *callee,
	const struct inject_options *opt, enum jemalloc_prof_verb verb, uint64_t lg_period,
	struct jemalloc_prof *before, struct inject_report *report, struct err *e);

/*
 * Have it write a profile, which may be of a past one, into a file in memory: *RET_FD is that, at
 * its beginning, for the caller to close.  No file of the target's is made.
 */
int jemalloc_prof_dump(const struct jemalloc *j, struct inject_target *callee,
	const struct inject_options *opt, int *ret_fd, struct inject_report *report, struct err *e);

#endif
