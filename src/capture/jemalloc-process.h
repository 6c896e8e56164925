/* jemalloc-process: a process whose malloc is jemalloc's, opened for calls of its profiler. */
#ifndef MEMDIAG_CAPTURE_JEMALLOC_PROCESS_H
#define MEMDIAG_CAPTURE_JEMALLOC_PROCESS_H

#include "glibc/process.h"
#include "inject/malloc.h"
#include "jemalloc/find.h"
#include "jemalloc/jemalloc.h"
#include "jemalloc/prof.h"

struct jemalloc_process {
	struct process process;
	struct jemalloc jemalloc;
	struct inject_target *inject;
	struct jemalloc_prof before; /* its state before the last call */
	struct inject_report borrowed;
};

/*
 * Determine whether to use jemalloc (jemalloc_find()) because the agent is not loaded.  1, with P
 * ready for jemalloc_prof_do() and similar functions; 0; or -1 with E.  P need not be initialised,
 * and must be released in any case.  Nothing is stopped.
 */
int jemalloc_process_open(struct jemalloc_process *p, const struct target *t,
	enum malloc_choice choice, struct err *e);
void jemalloc_process_release(struct jemalloc_process *p);
#define auto_jemalloc_process __attribute__((cleanup(jemalloc_process_release)))

/*
 * Store the logarithm of a rate of PERIOD_BYTES in *RET.  ERR_USAGE if it is not a power of two:
 * jemalloc knows no other rates.
 */
int jemalloc_process_rate(uint64_t period_bytes, uint64_t *ret, struct err *e);

#endif
