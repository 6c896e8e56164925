/* trim: collect the data of memdiag trim before it is printed. */
#ifndef MEMDIAG_DIAGNOSE_TRIM_H
#define MEMDIAG_DIAGNOSE_TRIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "account/checks.h"
#include "base/err.h"
#include "diagnose/malloc-target.h"
#include "glibc/layout.h"
#include "heap/heap.h"
#include "inject/malloc.h"
#include "jemalloc/ask.h"
#include "jemalloc/find.h"
#include "ui/ui.h"
#include "ui/warnings.h"

struct trim_options {
	struct ui_options ui;
	struct inject_options inject;
	enum malloc_choice malloc;
	bool dry_run;
	bool tops; /* also release the tops of thread arenas */
	uint64_t pad_bytes;
	uint64_t max_lock_ns; /* longest time for which an arena may be locked */
	uint64_t max_stop_ns; /* longest stop of the process for a forecast */
	uint64_t recheck_ns;  /* measure again after this time; 0: never */
	size_t max_rows;      /* of arenas; 0: unlimited */
};

/* The state at one time. */
struct moment {
	uint64_t rss_bytes, swap_bytes;
	bool has_arenas;
	uint64_t arenas_bytes; /* resident in arenas */
};

/* The effect of malloc_trim(), in all arenas. */
struct forecast {
	struct heap heap;
	uint64_t rss_bytes, uss_bytes, swap_bytes;
	uint64_t lock_ns, longest_lock_ns;
	uint64_t nr_faults; /* page faults if all released memory is used again */
	uint64_t mlocked_bytes, huge_bytes;
	uint64_t tops_bytes; /* resident tops of thread arenas, which are kept */
	size_t nr_approximate;
	/*
	 * With --dry-run, for a process that ran meanwhile: the forecast at a later time; 0: not
	 * measured.
	 */
	uint64_t again_after_ns, again_rss_bytes;
};

struct trim {
	struct malloc_target mt;
	struct moment before, after, later;
	/* with --dry-run, and for heaps whose trim might take long */
	struct forecast forecast;
	/* without --dry-run */
	struct inject_report report;
	bool has_tops;		     /* its libc has the functions that --tops needs */
	struct malloc_layout layout; /* zeroed if unknown */
	size_t nr_tops;
	struct inject_discarded tops;
	/* for jemalloc; AFTER is empty with --dry-run */
	struct jemalloc_stats jemalloc_before, jemalloc_after;
	uint64_t released_bytes;
	bool has_later;
	uint64_t came_back_bytes;
	struct checks checks; /* of the last measurement; with --dry-run, of the first forecast */
	struct warnings warnings;
};

/*
 * trim.c: call malloc_trim() in process OPT->ui.pid, or jemalloc's purge, and measure before and
 * after; with OPT->dry_run predict the effect without changes.  T must be zeroed except for .mt =
 * MALLOC_TARGET_NONE; release it in any case.  The process stays claimed until then, or until
 * target_unclaim().  Returns 0, or -1 with E, which reports if the heap was already trimmed.
 */
int trim_or_predict(struct trim *t, const struct trim_options *opt, struct err *e);

/*
 * Wait for OPT->recheck_ns, then fill in T->later and the amount that came back.  The program runs
 * meanwhile; if it has ended, T gets a warning, and has_later stays false.
 */
void trim_measure_again(struct trim *t, const struct trim_options *opt);

void trim_release(struct trim *t);
#define auto_trim __attribute__((cleanup(trim_release)))

#endif
