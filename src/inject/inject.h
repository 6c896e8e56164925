/*
 * inject: stop all threads of a living target for a moment; or call libc inside it: pick a thread,
 * prove that it can be borrowed, call, give it back as it was.
 * May use: stack/, maps/, elf/, os/, base/.
 *
 * A call is dressed as a signal handler: its return address is libc's own sigreturn stub, over a
 * signal frame that holds the thread's registers.  Whenever memdiag dies, the kernel itself puts
 * the thread back.  No code is written, nothing executable is mapped, no breakpoint, no single
 * step.  doc/inject.md draws it.
 */
#ifndef MEMDIAG_INJECT_INJECT_H
#define MEMDIAG_INJECT_INJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/text.h"
#include "maps/maps.h"
#include "os/os.h"

/* ---- all threads of a target stopped for a moment ---------------------------------------------- */

struct inject_freeze {
	size_t nr_threads;	/* that stood still */
	uint64_t still_ns;	/* how long all of them did */
	uint64_t longest_ns;	/* the longest that one of them did */
};

/*
 * Stop every thread of T, call FN, and give every thread back as it was, whatever FN returns, which
 * is returned.  FN runs in os_trace()'s thread; it must be back by DEADLINE_NS of os_now_ns(), which
 * is MAX_NS after the first thread was asked to stop.  Works on any program, whatever its libc.
 * ERR_NO_SAFE_POINT when a thread does not stop in half of that time, as one that waits for a disk,
 * or for its vfork child; ERR_PERMISSION when somebody else traces it: FN is not called then.
 */
int inject_freeze(const struct target *t, uint64_t max_ns,
	int (*fn)(uint64_t deadline_ns, void *arg, struct err *e), void *arg,
	struct inject_freeze *ret, struct err *e);

/* ---- calls ------------------------------------------------------------------------------------- */

enum inject_capture {
	INJECT_CAPTURE_STREAM,	/* malloc_info writes to a private copy of the stderr stream */
	INJECT_CAPTURE_FD2,	/* descriptor 2 is redirected to a file meanwhile; stray lines are
				 * written to where they belonged afterwards */
};

enum inject_mode {
	INJECT_MODE_AUTO,	/* helper for a target with several threads, else thread */
	INJECT_MODE_HELPER,	/* the borrowed thread makes a pthread that does the work */
	INJECT_MODE_THREAD,	/* the borrowed thread does the work */
};

struct inject_options {
	enum inject_capture capture;
	enum inject_mode mode;
	uint64_t wait_ns;	/* look for a safe moment this long */
	uint64_t timeout_ns;	/* then the call may take this long */
};

/* Everything that is known of a target before anything in it is stopped. */
struct inject_target;

/*
 * Learn it: allocator, libc, symbols.  Stops nothing.  ERR_UNSUPPORTED, with the allocator's name
 * and what to do instead, when malloc is not glibc's or memdiag cannot call into this process: so
 * ask this before arenas_find().  T, M and O are borrowed and must outlive it.
 */
int inject_target_new(struct inject_target **ret, const struct target *t, const struct maps *m,
	const struct objects *o, struct err *e);
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
 * Whether malloc_info and malloc_trim can be called in it: not in a static program.  Asked for by what
 * calls them.  0, or -1 with E (ERR_UNSUPPORTED).
 */
int inject_check_calls(const struct inject_target *it, struct err *e);

/* glibc's version as its own banner has it ("2.36"), "" if it cannot be told. */
const char *inject_libc_version(const struct inject_target *it);

/* Which threads could be borrowed at this moment. */
struct inject_outlook {
	size_t nr_parked;	/* that wait where they may be borrowed; no more are looked for when
				 * there are some */
	size_t nr_running;	/* that might be, if they are stopped outside of malloc */
	size_t nr_refused;	/* that wait elsewhere */
	char refused[160];	/* the last of these: who, and why; "" if there is none */
};

/* Look at the target's threads, stopping none. */
int inject_outlook(struct inject_target *it, const struct arenas *a, struct inject_outlook *ret,
	struct err *e);

/* How it went. */
struct inject_report {
	enum inject_mode mode;	/* HELPER or THREAD */
	pid_t tid;		/* the thread that was borrowed */
	uint64_t held_ns;	/* how long it was stopped or at work for us, the last time */
	uint64_t call_ns;	/* how long the call took; for trim an upper bound of how long the
				 * arenas were locked, one after the other */
	int nr_rejected;	/* threads that were looked at or stopped, and let go untouched */
	enum inject_capture capture;	/* what was used: FD2 as well where a copy of the stream is
					 * not possible */
	bool is_cut;		/* the text is longer than the buffer: its end is missing */
	uint64_t replayed_bytes;	/* FD2: stray output written to where it belonged */
};

/*
 * Call malloc_info(0, stream) in the target, whose arenas are A.  *OUT is the XML text, the caller's to release.
 * ERR_NO_SAFE_POINT when no thread could be proven safe within wait_ns; nothing was changed then.
 */
int inject_malloc_info(struct inject_target *it, const struct arenas *a,
	const struct inject_options *opt, struct text *out, struct inject_report *ret,
	struct err *e);

/* Call malloc_trim(PAD_BYTES) in the target.  Failures as inject_malloc_info(). */
int inject_malloc_trim(struct inject_target *it, const struct arenas *a,
	const struct inject_options *opt, uint64_t pad_bytes, struct inject_report *ret,
	struct err *e);

/* ---- free pages that malloc_trim() never gives back ----------------------------------------------- */

/* Whole pages of an arena's top chunk. */
struct inject_range {
	raddr arena;		/* whose lock makes that chunk stay as it is */
	raddr start, end;
};

struct inject_discard {
	const struct inject_range *range;
	size_t nr;
	/*
	 * Called again and again while the range's arena is locked: whether the pages in R, which is
	 * what is left of the range, still are free; R may be made smaller.  Must be quick: threads
	 * of the target may wait for the lock.
	 */
	bool (*is_free)(struct inject_range *r, void *arg);
	void *arg;
};

struct inject_discarded {
	uint64_t bytes;		/* address space that was given back, resident or not */
	uint64_t longest_lock_ns;	/* the longest that a lock was held */
	size_t nr_busy;		/* ranges left as they were, for their lock was not to be had */
};

/*
 * Have the target's arenas A give the memory of WHAT back to the kernel.  No thread is stopped but the
 * borrowed one; who needs the same arena meanwhile waits, some milliseconds at a time.  What was
 * done so far is in RET also on failure.
 */
int inject_discard(struct inject_target *it, const struct arenas *a,
	const struct inject_options *opt, const struct inject_discard *what,
	struct inject_discarded *ret, struct inject_report *report, struct err *e);

/* ---- a library of ours in the target -------------------------------------------------------------- */

struct inject_library {
	raddr start;		/* of its first segment */
	bool was_there;		/* it had been loaded before */
};

/*
 * Have the target load the shared library PATH as its own dlopen() does, and keep it for ever; where
 * the target cannot see or read that file, from a copy of it in memory.  A library is known by its
 * build-id: one that is there already is not loaded again.  The number of A, the target's arenas,
 * stays what it is.  On failure E has the target's own dlerror(), and nothing stays behind.
 * ERR_UNSUPPORTED: a library without a build-id; a target of which a thread is under a seccomp filter,
 * which may not know the system calls of dlopen().
 */
int inject_load(struct inject_target *it, const struct arenas *a, const struct inject_options *opt,
	const char *path, struct inject_library *ret, struct inject_report *report, struct err *e);

/*
 * The same in a program that has no dynamic linker (inject_is_static()): memdiag puts the library there
 * itself.  Nobody looks up what the library does not define: it is NULL, also functions.  Its
 * thread-local words are zeroes at first, and of a thread that has ended the next one finds them that has
 * the same stack.  When all is there FN is called, with where the library begins, to tell the library what
 * it must know; then the library's constructors are.  Should FN fail, nothing stays behind.
 */
int inject_place(struct inject_target *it, const struct arenas *a, const struct inject_options *opt,
	const char *path, int (*fn)(raddr start, void *arg, struct err *e), void *arg,
	struct inject_library *ret, struct inject_report *report, struct err *e);

/*
 * ERR_UNSUPPORTED when a thread of T is under a seccomp filter that would end the process for the system
 * calls of code of ours.  inject_load() asks it itself, of a library that is not there yet.
 */
int inject_refuse_filters(const struct target *t, struct err *e);

/* ---- functions hooked for the whole process -------------------------------------------------------- */

/* A function whose callers, all of them, are to call another one. */
struct inject_hook {
	const char *name;	/* of its symbol */
	raddr function;
	uint64_t size_bytes;
	raddr hook;		/* what is to be called instead */
	raddr real;		/* a pointer of HOOK's, which is given what does as FUNCTION did */
};

struct inject_hooked {
	size_t nr_entries;	/* functions whose beginning was changed, or changed back */
	size_t nr_slots;	/* pointers in global offset tables that were */
	size_t nr_already;	/* of both, that needed no change */
	size_t nr_foreign;	/* that somebody else has changed since, and were left as they are */
	size_t nr_tries;	/* how often all threads were stopped for it */
	struct inject_freeze freeze;	/* the last time */
};

/*
 * Make NR functions (one or more) hooked, in one go while all threads of the target stand still: by a jump at the
 * function's beginning, so that whoever calls it, in whatever way, is seen; where that cannot be, by
 * what the global offset tables of all objects have.  What is hooked in the same way already counts
 * as already.  What it takes besides is laid into 64 KiB of the target's address space, which stay
 * when the hooks are lifted: a thread may be there still.  Should memdiag die in between, some
 * functions are hooked and the others are not.
 * ERR_NO_SAFE_POINT when in opt->wait_ns some thread always was in the middle of the bytes that
 * change; ERR_UNSUPPORTED when a function has another's jump or breakpoint already, or can be hooked
 * in neither way.  Then nothing is hooked.
 */
int inject_hooks_set(struct inject_target *it, const struct arenas *a,
	const struct inject_options *opt, const struct inject_hook *hook, size_t nr,
	struct inject_hooked *ret, struct inject_report *report, struct err *e);

/*
 * Where the function at FUNCTION, which is of libc's malloc, is called directly by what was compiled
 * together with it: [*RET_START, *RET_END) has all addresses that such calls return to, and
 * none of other code.  Both {0}: there are none.  Everybody else calls through a table, so that a
 * program can put a function of its own in between.
 */
void inject_inner_calls(const struct inject_target *it, raddr function, raddr *ret_start,
	raddr *ret_end);

/*
 * Whether thread TID, which stands in inject_freeze(), is in the middle of a call of malloc or its kin;
 * true if that cannot be told.
 */
bool inject_is_in_malloc(const struct inject_target *it, pid_t tid);

/* Put back every byte.  No hooks set is no failure: nothing is counted then. */
int inject_hooks_lift(struct inject_target *it, const struct inject_options *opt,
	struct inject_hooked *ret, struct err *e);

#endif
