/*
 * jemalloc: a process that gets its memory from jemalloc: where its functions are, and jemalloc's
 * own account of its memory, asked by mallctl() in a borrowed thread.
 *
 * The names and types of mallctl()'s answers are jemalloc's documented interface (doc/jemalloc.xml;
 * 4.x to 5.3).  Values that a release does not have are JEMALLOC_UNKNOWN.
 */
#ifndef MEMDIAG_JEMALLOC_JEMALLOC_H
#define MEMDIAG_JEMALLOC_JEMALLOC_H

#include "inject/inject.h"

struct process;

#define JEMALLOC_UNKNOWN UINT64_MAX

#define JEMALLOC_MAX_CODE 64

/* Which malloc is meant, where a process has two. */
enum malloc_choice {
	MALLOC_AUTO, /* jemalloc, if it is there */
	MALLOC_GLIBC,
	MALLOC_JEMALLOC,
};

/* Where jemalloc is in a process. */
struct jemalloc {
	struct inject_allocator inject; /* the first: may_be_called() gets its address */
	/* what INJECT points to: the whole library, or its functions in the program */
	struct inject_code code[JEMALLOC_MAX_CODE];
	bool serves_malloc; /* the program's malloc() is its; else only its own functions are */
	char prefix[12];    /* of its public functions: "" or "je_" ... */
	char path[256];	    /* printable: the object that has it */
	raddr mallctl;
	struct inject_tls tls;
};

/*
 * Find the jemalloc of P that CHOICE means: a library that serves malloc and exports mallctl(),
 * with or without a prefix; or one that is linked into the program, which was not stripped of its
 * symbols, whether or not it serves malloc.  J must outlive every inject_target that is made with
 * it.  1, 0 if glibc's malloc or another is meant, or -1 with E (ERR_UNSUPPORTED) if there is no
 * jemalloc though CHOICE wants it.
 */
int jemalloc_find(
	struct jemalloc *j, const struct process *p, enum malloc_choice choice, struct err *e);

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
 * Ask the jemalloc J of IT, which was learned with &j->inject.  Its statistics are refreshed
 * (mallctl "epoch") and read.  RET must be zeroed or released.  Failures as inject_malloc_info().
 * The first time that it is asked, jemalloc makes tables for its answers, which stay in the process
 * (src/ctl.c, ctl_init(); counted as metadata).
 */
int jemalloc_ask(const struct jemalloc *j, struct inject_target *it,
	const struct inject_options *opt, struct jemalloc_stats *ret, struct inject_report *report,
	struct err *e);

/*
 * Have it give all unused pages of all arenas back ("arena.4096.purge", 5.0), and ask it before and
 * after.  A borrowed thread does not give back more than MAX_BYTES: ERR_NO_SAFE_POINT then, with
 * nothing changed; a helper does (INJECT_MODE_HELPER), for which jemalloc may make one more arena,
 * which later threads use.
 */
int jemalloc_purge(const struct jemalloc *j, struct inject_target *it,
	const struct inject_options *opt, uint64_t max_bytes, struct jemalloc_stats *before,
	struct jemalloc_stats *after, struct inject_report *report, struct err *e);

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
 * Do VERB in IT, and report in BEFORE how it was: START changes nothing if samples are taken
 * already, STOP if they are not.  START takes one sample for 2^LG_PERIOD bytes; JEMALLOC_UNKNOWN:
 * for as many as before.  ERR_UNSUPPORTED, with what is to be set, when this jemalloc has no
 * profiling or the program was started without it; not for READ.
 */
int jemalloc_prof_do(const struct jemalloc *j, struct inject_target *it,
	const struct inject_options *opt, enum jemalloc_prof_verb verb, uint64_t lg_period,
	struct jemalloc_prof *before, struct inject_report *report, struct err *e);

/*
 * Have it write a profile, which may be of a past one, into a file in memory: *RET_FD is that, at
 * its beginning, for the caller to close.  No file of the target's is made.
 */
int jemalloc_prof_dump(const struct jemalloc *j, struct inject_target *it,
	const struct inject_options *opt, int *ret_fd, struct inject_report *report, struct err *e);

#endif
