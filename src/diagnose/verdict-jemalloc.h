/*
 * verdict-jemalloc: the verdicts on jemalloc's statistics.
 */
#ifndef MEMDIAG_DIAGNOSE_VERDICT_JEMALLOC_H
#define MEMDIAG_DIAGNOSE_VERDICT_JEMALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "diagnose/verdict.h"

/* The statistics of jemalloc in a process; 0 if unknown. */
struct verdict_jemalloc {
	uint64_t allocated_bytes;  /* in blocks in use */
	uint64_t cached_bytes;	   /* freed, cached by threads */
	uint64_t between_bytes;	   /* free, on pages that have blocks */
	uint64_t free_bytes;	   /* whole pages, dirty or muzzy */
	uint64_t other_bytes;	   /* anonymous memory outside jemalloc, a lower bound */
	uint64_t retained_bytes;   /* address space kept without memory */
	bool never_decays;	   /* free pages are kept for ever */
	bool has_prof, is_prof_on; /* its profiler is built in; it was enabled at the start */
};

/*
 * As verdict_judge(), for a process that uses jemalloc; FACTS were gathered without a heap.  The
 * ids equal those of the same causes in glibc's malloc.
 */
size_t verdict_judge_jemalloc(struct verdict_facts *facts, const struct verdict_jemalloc *j,
	struct verdict v[VERDICT_MAX]);

#endif
