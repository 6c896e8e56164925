/*
 * verdict-jemalloc: the verdicts on jemalloc's statistics.
 */
#ifndef MEMDIAG_DIAGNOSE_VERDICT_JEMALLOC_H
#define MEMDIAG_DIAGNOSE_VERDICT_JEMALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "diagnose/verdict.h"

/* The statistics of jemalloc in a process; 0 where nothing is known. */
struct verdict_jemalloc {
	uint64_t allocated_bytes;  /* in blocks that the program has */
	uint64_t cached_bytes;	   /* freed, kept by threads */
	uint64_t between_bytes;	   /* free, on pages that have blocks */
	uint64_t free_bytes;	   /* whole pages, dirty or muzzy */
	uint64_t other_bytes;	   /* anonymous memory that is not jemalloc's, at least */
	uint64_t retained_bytes;   /* addresses that it keeps without memory */
	bool never_decays;	   /* free pages are kept for ever */
	bool has_prof, is_prof_on; /* its profiler is built in; it was enabled at the start */
};

/*
 * The same for a process whose malloc is jemalloc's; FACTS were gathered without a heap.  The ids
 * are those of the same causes in glibc's malloc.
 */
size_t verdict_judge_jemalloc(struct verdict_facts *facts, const struct verdict_jemalloc *j,
	struct verdict v[VERDICT_MAX]);

#endif
