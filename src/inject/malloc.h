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
	 * descriptor 2 is redirected to a file meanwhile; other output is passed on afterwards.
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
	uint64_t wait_ns; /* how long to look for a safe moment */
	/* but only until no thread has moved for this long; 0: for all of wait_ns */
	uint64_t settle_ns;
	/*
	 * Called now and then meanwhile, with what the last refused thread does.  Nothing is
	 * stopped then.  May be NULL.
	 */
	void (*waiting)(const char *why, uint64_t waited_ns);
	uint64_t timeout_ns; /* how long the call may take after that */
};

/* Report of a call. */
struct inject_report {
	enum inject_mode mode; /* HELPER or THREAD */
	pid_t tid;	       /* the thread that was borrowed */
	uint64_t held_ns;      /* how long it was stopped or at work for us, the last time */
	/*
	 * duration of the call; for trim an upper bound of how long the arenas were locked, one
	 * after the other
	 */
	uint64_t call_ns;
	int nr_rejected; /* threads that were examined or stopped, and let go unchanged */
	enum inject_capture capture;
	bool is_cut;		 /* the text is longer than the buffer, and truncated */
	uint64_t replayed_bytes; /* FD2: other output, passed on to the log */
	size_t nr_left_over;	 /* FD2: files that a killed memdiag had left open, closed now */
	/*
	 * processes forked meanwhile.  FD2: their standard error stays our file; load_library():
	 * they may have inherited a lock of ld.so without its owner, and hang in dlopen()
	 */
	size_t nr_children;
	pid_t child; /* one of them */
};

/*
 * Call malloc_info(0, stream) in the target, whose arenas are A. *OUT is the XML text, which the
 * caller releases.  Fails with ERR_NO_SAFE_POINT if no thread could be proven safe within wait_ns;
 * nothing was changed then.  Fails with ERR_UNSUPPORTED if the text cannot be captured that way.
 */
int inject_malloc_info(struct inject_target *callee, const struct arenas *a,
	const struct inject_options *opt, struct text *out, struct inject_report *ret,
	struct err *e);

/* Call malloc_trim(PAD_BYTES) in the target.  Fails as inject_malloc_info(). */
int inject_malloc_trim(struct inject_target *callee, const struct arenas *a,
	const struct inject_options *opt, uint64_t pad_bytes, struct inject_report *ret,
	struct err *e);

/* ---- free pages that malloc_trim() never gives back ------------------------------------------ */

/* Whole pages of an arena's top chunk. */
struct inject_range {
	raddr arena; /* the arena whose lock keeps that chunk unchanged */
	raddr start, end;
};

struct inject_discard {
	const struct inject_range *range;
	size_t nr;
	/*
	 * Called repeatedly while the range's arena is locked.  Returns whether the pages in R, the
	 * rest of the range, are still free; it may make R smaller.  Must be quick: threads of the
	 * target may wait for the lock.
	 */
	bool (*is_free)(struct inject_range *r, void *arg);
	void *arg;
};

struct inject_discarded {
	uint64_t bytes;		  /* address space that was given back, resident or not */
	uint64_t longest_lock_ns; /* the longest time that a lock was held */
	size_t nr_busy;		  /* ranges left alone because their lock could not be taken */
};

/*
 * Have the target's arenas A return the memory of WHAT to the kernel.  Only the borrowed thread is
 * stopped; a thread that needs the same arena waits, some milliseconds at a time.  RET has the
 * bytes returned so far also on failure.
 */
int inject_discard(struct inject_target *callee, const struct arenas *a,
	const struct inject_options *opt, const struct inject_discard *what,
	struct inject_discarded *ret, struct inject_report *report, struct err *e);

#endif
