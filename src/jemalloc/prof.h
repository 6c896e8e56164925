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
	bool is_enabled;	/* opt.prof: enabled at the start */
	bool is_active;		/* prof.active: samples are taken */
	bool skips_new_threads; /* prof.thread_active_init is false */
	bool accumulates;	/* opt.prof_accum: its files include freed blocks */
	/* opt.prof_gdump, opt.prof_final, opt.prof_leak: it also writes files by itself */
	bool dumps_at_peak, dumps_at_exit, reports_leaks;
	uint64_t period_bytes;	 /* between two samples, on average */
	uint64_t interval_bytes; /* between two files that it writes by itself; 0: never */
	char prefix[64];	 /* of the file names; printable */
};

enum jemalloc_prof_verb {
	JEMALLOC_PROF_READ,
	JEMALLOC_PROF_CHECK, /* as READ, but fail if it cannot be profiled */
	JEMALLOC_PROF_START, /* discard the old samples, and take new ones from now on */
	JEMALLOC_PROF_STOP,
};

/*
 * Do VERB in CALLEE, and report the previous state in BEFORE: START changes nothing if samples are
 * already taken, STOP if they are not.  START takes one sample per 2^LG_PERIOD bytes;
 * JEMALLOC_UNKNOWN: the previous period.  Fails with ERR_UNSUPPORTED, and the setting to change, if
 * this jemalloc lacks profiling or the program was started without it; READ does not fail for this.
 */
int jemalloc_prof_do(const struct jemalloc *j, struct inject_target *callee,
	const struct inject_options *opt, enum jemalloc_prof_verb verb, uint64_t lg_period,
	struct jemalloc_prof *before, struct inject_report *report, struct err *e);

/*
 * Make it write a profile, possibly of an earlier run, into a file in memory: *RET_FD is that file,
 * at its beginning, for the caller to close.  Creates no file in the target's file system.
 */
int jemalloc_prof_dump(const struct jemalloc *j, struct inject_target *callee,
	const struct inject_options *opt, int *ret_fd, struct inject_report *report, struct err *e);

#endif
