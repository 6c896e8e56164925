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

/* One arena, in bytes, or JEMALLOC_UNKNOWN. */
struct jemalloc_arena {
	uint32_t nr;
	uint64_t nr_threads;
	uint64_t allocated_bytes; /* blocks, in sizes of their size classes; includes cached ones */
	uint64_t active_bytes;	  /* pages that have blocks */
	uint64_t dirty_bytes;	  /* free pages, not yet released */
	uint64_t muzzy_bytes;	  /* free pages, lazily released (MADV_FREE) */
	uint64_t metadata_bytes;  /* used by jemalloc itself */
	uint64_t cached_bytes;	  /* freed, cached by threads; included in ALLOCATED */
	uint64_t resident_bytes;  /* an upper bound */
	uint64_t mapped_bytes;
	uint64_t retained_bytes; /* address space kept without memory */
};

struct jemalloc_stats {
	char version[64]; /* "5.3.0-0-g54eaed1...", "" if unknown; printable */
	bool has_stats;	  /* the library keeps statistics (config.stats) */
	/* profiling: built in, enabled at the start, active */
	bool has_prof, is_prof_on, is_prof_active;
	uint64_t lg_prof_sample; /* log2 of the bytes between two samples */
	uint64_t background_thread;
	int64_t dirty_decay_ms, muzzy_decay_ms; /* for new arenas; -1: never */
	bool has_decay;
	uint64_t narenas, max_arenas; /* slots; opt.narenas, the automatic ones */
	uint64_t page_bytes;
	/* all arenas together, at one time */
	uint64_t allocated_bytes, active_bytes, metadata_bytes, resident_bytes, mapped_bytes,
		retained_bytes;
	/* sums over the arenas below */
	uint64_t dirty_bytes, muzzy_bytes, cached_bytes;
	struct jemalloc_arena *arena; /* owned; the initialised ones */
	size_t nr_arenas;
	/* the program refreshed jemalloc's statistics meanwhile: arenas may differ from the sums */
	bool is_torn;
	size_t nr_unread; /* arenas skipped to limit the time for which the thread is held */
};

void jemalloc_stats_release(struct jemalloc_stats *s);
#define auto_jemalloc_stats __attribute__((cleanup(jemalloc_stats_release)))

/*
 * Query the jemalloc J of CALLEE, which was prepared with &j->inject.  Refreshes the statistics
 * (mallctl "epoch") and reads them.  RET must be zeroed or released.  Fails as
 * inject_malloc_info().  On the first query, jemalloc creates tables for its answers, which stay in
 * the process (src/ctl.c, ctl_init(); counted as metadata).
 */
int jemalloc_ask(const struct jemalloc *j, struct inject_target *callee,
	const struct inject_options *opt, struct jemalloc_stats *ret, struct inject_report *report,
	struct err *e);

/*
 * Make jemalloc release all unused pages of all arenas ("arena.4096.purge", 5.0), and query it
 * before and after.  If more than MAX_BYTES would be released, a borrowed thread does not do it:
 * ERR_NO_SAFE_POINT, with nothing changed.  A helper (INJECT_MODE_HELPER) does; jemalloc may create
 * one more arena for it, which later threads use.
 */
int jemalloc_purge(const struct jemalloc *j, struct inject_target *callee,
	const struct inject_options *opt, uint64_t max_bytes, struct jemalloc_stats *before,
	struct jemalloc_stats *after, struct inject_report *report, struct err *e);

#endif
