/*
 * inject: call libc inside a living target: pick a thread, prove that it can be borrowed, call,
 * give it back as it was.
 *
 * A call is dressed as a signal handler: its return address is libc's own sigreturn stub, over a
 * signal frame that holds the thread's registers.  Whenever memdiag dies, the kernel itself puts
 * the thread back.  For a call no code is written, nothing executable is mapped, no breakpoint, no
 * single step. doc/internals/inject.md draws it.  Other work in a borrowed thread is described in
 * inject/job.h.
 */
#ifndef MEMDIAG_INJECT_INJECT_H
#define MEMDIAG_INJECT_INJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/text.h"
#include "glibc/arenas.h"

struct object;
struct process;
struct target;

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
/* Their names, in that order, NULL at the end. */
extern const char *const inject_mode_name[];

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

/* Everything that is known of a target before anything in it is stopped. */
struct inject_target;

/*
 * Learn it: allocator, libc, symbols.  Stops nothing.  ERR_UNSUPPORTED, with the allocator's name
 * and what to do instead, when malloc is not glibc's or memdiag cannot call into this process: so
 * ask this before the arenas are looked for.  P is borrowed and must outlive it.
 */
int inject_target_new(struct inject_target **ret, const struct process *p, struct err *e);
/*
 * Whether T may be called into as it is now: not if another tracer has it (ERR_PERMISSION), if it
 * is stopped or frozen (ERR_NO_SAFE_POINT), or runs in its parent's memory. inject_target_new()
 * asks this first, and inject_target_learn() does the rest.
 */
int inject_check_state(const struct target *t, struct err *e);
int inject_target_learn(struct inject_target **ret, const struct process *p, struct err *e);

/* Code of a target. */
struct inject_code {
	raddr start, end;
};

/*
 * Another allocator than glibc's, whose functions are to be called in a target that also has a
 * glibc.  Its arenas are none of glibc's: calls are given empty ones.
 */
struct inject_allocator {
	const char *name; /* for messages */
	/* all of it: no thread that is in the middle of it is borrowed */
	const struct inject_code *code;
	size_t nr_code;
	/*
	 * Whether a call in stopped thread TID of T, with its thread pointer at TP, makes no state
	 * for that thread that it does not have yet.
	 */
	bool (*may_be_called)(
		const struct inject_allocator *a, const struct target *t, pid_t tid, raddr tp);
};

/*
 * The thread-local variables of a library, which lie in one block in each thread.  A thread where
 * they are not as they are initialised has used the library.
 */
struct inject_tls {
	int64_t offset; /* of the block from the thread pointer; 0: it is not known */
	raddr image;	/* how it begins; what follows IMAGE_BYTES is zeroes */
	uint64_t image_bytes, bytes;
};

/* Find those of the library O of T; RET->offset is 0 if they are not found. */
void inject_tls_find(struct inject_tls *ret, const struct object *o, const struct target *t);
/*
 * Whether stopped thread TID of T, with its thread pointer at TP, has used them.  If their place is
 * not known, the first thread has: it runs the library's constructor.
 */
bool inject_tls_is_used(const struct inject_tls *tls, const struct target *t, pid_t tid, raddr tp);

/*
 * As inject_target_learn(), for a target whose malloc may be A's, which must outlive IT.  0, or -1
 * with E: ERR_UNSUPPORTED also for one with several libcs.
 */
int inject_target_learn_other(struct inject_target **ret, const struct process *p,
	const struct inject_allocator *a, struct err *e);
void inject_target_free(struct inject_target *it);
static inline void
inject_target_cleanup(struct inject_target **it)
{
	inject_target_free(*it);
}
#define auto_inject_target __attribute__((cleanup(inject_target_cleanup)))

/* Whether its libc is in the program itself: then no function can be asked for by name. */
bool inject_is_static(const struct inject_target *it);

/*
 * Check that malloc_info and malloc_trim can be called in it, which they cannot in a static
 * program.  The functions that call them check this first. 0, or -1 with E (ERR_UNSUPPORTED).
 */
int inject_check_calls(const struct inject_target *it, struct err *e);

/* glibc's version as its own banner has it ("2.36"), "" if it is unknown. */
const char *inject_libc_version(const struct inject_target *it);

/* Which threads could be borrowed at this moment. */
struct inject_outlook {
	size_t nr_parked;  /* that may be borrowed where they wait; some end the search */
	size_t nr_running; /* that might be, if they are stopped outside of malloc */
	size_t nr_refused; /* that wait elsewhere */
	char refused[160]; /* the last of these: its number, and why; "" if none */
};

/* Look at the target's threads, stopping none. */
int inject_outlook(struct inject_target *it, const struct arenas *a, struct inject_outlook *ret,
	struct err *e);

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
 * Whether libc's stderr object looks as struct _IO_FILE_plus has looked from 2.17 to 2.44: only
 * then can INJECT_CAPTURE_STREAM make a copy of it.
 */
bool inject_can_copy_stream(const struct inject_target *it);

/*
 * Call malloc_info(0, stream) in the target, whose arenas are A.  *OUT is the XML text, the
 * caller's to release.  ERR_NO_SAFE_POINT when no thread could be proven safe within wait_ns;
 * nothing was changed then.  ERR_UNSUPPORTED when the text cannot be caught that way.
 */
int inject_malloc_info(struct inject_target *it, const struct arenas *a,
	const struct inject_options *opt, struct text *out, struct inject_report *ret,
	struct err *e);

/* Call malloc_trim(PAD_BYTES) in the target.  Failures as inject_malloc_info(). */
int inject_malloc_trim(struct inject_target *it, const struct arenas *a,
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
int inject_discard(struct inject_target *it, const struct arenas *a,
	const struct inject_options *opt, const struct inject_discard *what,
	struct inject_discarded *ret, struct inject_report *report, struct err *e);

/*
 * Whether thread TID, which stop_threads() has stopped, is in the middle of a call of malloc or a
 * related function; true if unknown.
 */
bool inject_is_in_malloc(const struct inject_target *it, pid_t tid);

#endif
