/*
 * ask: jemalloc's statistics, read by mallctl() in the process, and its free pages given back.
 */
#ifndef MEMDIAG_JEMALLOC_ASK_H
#define MEMDIAG_JEMALLOC_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "inject/malloc.h"
#include "inject/target.h"
#include "jemalloc/jemalloc.h"

/* ---- its account ----------------------------------------------------------------------------- */

/* One arena.  Bytes, or JEMALLOC_UNKNOWN. */
struct jemalloc_arena {
	uint32_t nr;
	uint64_t nr_threads;
	uint64_t allocated_bytes; /* blocks, as large as their size class; with cached ones */
	uint64_t active_bytes;	  /* pages that have blocks */
	uint64_t dirty_bytes;	  /* free pages, not given back */
	uint64_t muzzy_bytes;	  /* free pages, lazily given back (MADV_FREE) */
	uint64_t metadata_bytes;  /* jemalloc's own */
	uint64_t cached_bytes;	  /* freed, kept by threads for themselves; in ALLOCATED */
	uint64_t resident_bytes;  /* at most */
	uint64_t mapped_bytes;
	uint64_t retained_bytes; /* addresses that are kept without memory */
};

struct jemalloc_stats {
	char version[64]; /* "5.3.0-0-g54eaed1...", "" if unknown; printable */
	bool has_stats;	  /* the library counts (config.stats) */
	/* profiling: built in, enabled at the start, under way */
	bool has_prof, is_prof_on, is_prof_active;
	uint64_t lg_prof_sample; /* log2 of the bytes between two samples */
	uint64_t background_thread;
	int64_t dirty_decay_ms, muzzy_decay_ms; /* of new arenas; -1: never */
	bool has_decay;
	uint64_t narenas, max_arenas; /* slots; opt.narenas, the automatic ones */
	uint64_t page_bytes;
	/* all arenas together, at one moment */
	uint64_t allocated_bytes, active_bytes, metadata_bytes, resident_bytes, mapped_bytes,
		retained_bytes;
	/* sums over the arenas below */
	uint64_t dirty_bytes, muzzy_bytes, cached_bytes;
	struct jemalloc_arena *arena; /* owned; the initialised ones */
	size_t nr_arenas;
	/*
	 * jemalloc's numbers were taken anew meanwhile, by the program: arenas may differ from the
	 * sums
	 */
	bool is_torn;
	size_t nr_unread; /* arenas left out, so that the thread was not held for longer */
};

void jemalloc_stats_release(struct jemalloc_stats *s);
#define auto_jemalloc_stats __attribute__((cleanup(jemalloc_stats_release)))

/*
 * Ask the jemalloc J of CALLEE, which was learned with &j->inject.  Its statistics are refreshed
 * (mallctl "epoch") and read.  RET must be zeroed or released.  Failures as inject_malloc_info().
 * The first time that it is asked, jemalloc makes tables for its answers, which stay in the process
 * (src/ctl.c, ctl_init(); counted as metadata).
 */
int jemalloc_ask(const struct jemalloc *j, struct inject_target *callee,
	const struct inject_options *opt, struct jemalloc_stats *ret, struct inject_report *report,
	struct err *e);

/*
 * Have it give all unused pages of all arenas back ("arena.4096.purge", 5.0), and ask it before and
 * after.  A borrowed thread does not give back more than MAX_BYTES: ERR_NO_SAFE_POINT then, with
 * nothing changed; a helper does (INJECT_MODE_HELPER), for which jemalloc may make one more arena,
 * which later threads use.
 */
int jemalloc_purge(const struct jemalloc *j, struct inject_target *callee,
	const struct inject_options *opt, uint64_t max_bytes, struct jemalloc_stats *before,
	struct jemalloc_stats *after, struct inject_report *report, struct err *e);

#endif
