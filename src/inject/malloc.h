/*
 * malloc: malloc_info(), malloc_trim() and madvise(), called in the target.
 */
#ifndef MEMDIAG_INJECT_MALLOC_H
#define MEMDIAG_INJECT_MALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/raddr.h"
#include "base/text.h"
#include "glibc/arenas.h"

struct inject_target;

/* ---- calls ----------------------------------------------------------------------------------- */

enum inject_capture {
	INJECT_CAPTURE_STREAM, /* malloc_info writes to a private copy of the stderr stream */
	/*
	 * descriptor 2 is redirected to a file meanwhile; output of others is passed on afterwards.
	 * Only on request, and only with the target claimed (target_claim())
	 */
	INJECT_CAPTURE_FD2,
};

enum inject_mode {
	INJECT_MODE_AUTO,   /* helper for a target with several threads, else thread */
	INJECT_MODE_HELPER, /* the borrowed thread makes a pthread that does the work */
	INJECT_MODE_THREAD, /* the borrowed thread does the work */
};

struct inject_options {
	enum inject_capture capture;
	enum inject_mode mode;
	uint64_t wait_ns; /* look for a safe moment this long */
	/* but only until no thread has moved for this long; 0: all the time */
	uint64_t settle_ns;
	/*
	 * Called now and then while that lasts, with what the last thread does that was refused.
	 * Nothing is stopped then.  May be NULL.
	 */
	void (*waiting)(const char *why, uint64_t waited_ns);
	uint64_t timeout_ns; /* then the call may take this long */
};

/* How it went. */
struct inject_report {
	enum inject_mode mode; /* HELPER or THREAD */
	pid_t tid;	       /* the thread that was borrowed */
	uint64_t held_ns;      /* how long it was stopped or at work for us, the last time */
	uint64_t call_ns;      /* how long the call took; for trim an upper bound of how long the
				 * arenas were locked, one after the other */
	int nr_rejected;       /* threads that were looked at or stopped, and let go untouched */
	enum inject_capture capture;
	bool is_cut;		 /* the text is longer than the buffer: its end is missing */
	uint64_t replayed_bytes; /* FD2: output of others, passed on to the log */
	size_t nr_left_over;	 /* FD2: files that a killed memdiag had left open, closed now */
	/*
	 * forked meanwhile.  FD2: their standard error stays our file; load_library(): they may
	 * have inherited a lock of ld.so without its owner, and hang in dlopen()
	 */
	size_t nr_children;
	pid_t child; /* one of them */
};

/*
 * Call malloc_info(0, stream) in the target, whose arenas are A.  *OUT is the XML text, the
 * caller's to release.  ERR_NO_SAFE_POINT when no thread could be proven safe within wait_ns;
 * nothing was changed then.  ERR_UNSUPPORTED when the text cannot be caught that way.
 */
int inject_malloc_info(struct inject_target *callee, const struct arenas *a,
	const struct inject_options *opt, struct text *out, struct inject_report *ret,
	struct err *e);

/* Call malloc_trim(PAD_BYTES) in the target.  Failures as inject_malloc_info(). */
int inject_malloc_trim(struct inject_target *callee, const struct arenas *a,
	const struct inject_options *opt, uint64_t pad_bytes, struct inject_report *ret,
	struct err *e);

/* ---- free pages that malloc_trim() never gives back ------------------------------------------ */

/* Whole pages of an arena's top chunk. */
struct inject_range {
	raddr arena; /* whose lock makes that chunk stay as it is */
	raddr start, end;
};

struct inject_discard {
	const struct inject_range *range;
	size_t nr;
	/*
	 * Called again and again while the range's arena is locked: whether the pages in R, which
	 * is what is left of the range, still are free; R may be made smaller.  Must be quick:
	 * threads of the target may wait for the lock.
	 */
	bool (*is_free)(struct inject_range *r, void *arg);
	void *arg;
};

struct inject_discarded {
	uint64_t bytes;		  /* address space that was given back, resident or not */
	uint64_t longest_lock_ns; /* the longest that a lock was held */
	size_t nr_busy;		  /* ranges left as they were, as their lock could not be taken */
};

/*
 * Have the target's arenas A give the memory of WHAT back to the kernel.  No thread is stopped but
 * the borrowed one; a thread that needs the same arena waits, some milliseconds at a time.  RET has
 * the bytes given back so far also on failure.
 */
int inject_discard(struct inject_target *callee, const struct arenas *a,
	const struct inject_options *opt, const struct inject_discard *what,
	struct inject_discarded *ret, struct inject_report *report, struct err *e);

#endif
