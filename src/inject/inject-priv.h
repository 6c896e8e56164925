/*
 * inject-priv: what the files of inject/ share.
 *
 *	target.c	what is known before anything stops
 *	safety.c	what a thread may not be in the middle of; the proof
 *	pick.c		which threads are worth trying, without stopping any
 *	borrow.c	stop one, prove it, give it back
 *	worker.c	calls in a stopped thread, and their undo list
 *	helper.c	a pthread of the target's own for the work
 *	call.c		calls that hold malloc's locks
 *	surroundings.c	whether the target's cgroups have room for a call
 *	job.c		a worker and memory for what is to be done, put back afterwards
 *	malloc.c	malloc_info and malloc_trim on top of these
 */
#ifndef MEMDIAG_INJECT_INJECT_PRIV_H
#define MEMDIAG_INJECT_INJECT_PRIV_H

#include "inject/job.h"

struct target;

/* glibc asks every thread to take part in setuid() with this signal (nptl/pthreadP.h). */
#define SIGSETXID 33

/* ---- target.c -------------------------------------------------------------------------------- */

/*
 * Check that the files of IT's libc can be read now: a call may need pages of it that the target
 * does not have yet, and would wait for a server (NFS, FUSE) that does not answer.  0, or -1 with E
 * (ERR_UNSUPPORTED).
 */
int inject_check_files(const struct inject_target *it, struct err *e);

/* ---- safety.c -------------------------------------------------------------------------------- */

/* Fill IT's dangers.  0, or -1 with E. */
int safety_learn(struct inject_target *it, struct err *e);

/* Why a thread was not taken: static text, or text with a name in it. */
struct reason {
	char text[96];
	/* a seccomp filter, which E of borrow_take() describes: no use to try it again */
	bool is_filter;
};

/*
 * Whether a thread has the lock that pthread_create() needs, perhaps for long: setuid() keeps it
 * until all threads have taken part.  False if unknown.
 */
bool safety_is_making_threads(const struct inject_target *it);

/* Whether A lies in libc, or in libpthread or ld.so, which are parts of it. */
bool safety_is_in_libc(const struct inject_target *it, raddr a);

/* Whether A is an arena, which begins with its lock. */
bool safety_is_arena(const struct inject_target *it, raddr a);

/*
 * Whether SP of thread TID is on the stack that libc or the kernel gave it.  Coroutines and
 * handlers have stacks of their own, and the memory below SP there may belong to any part of the
 * program.
 */
bool safety_is_own_stack(const struct inject_target *it, pid_t tid, raddr sp);

/* Whether A points into code that a borrowed thread may not be in; what it is, or NULL. */
const char *safety_danger_at(const struct inject_target *it, raddr a);

/*
 * Prove that stopped thread TID may be borrowed: neither it nor any caller on its stack is at a
 * dangerous place, it holds no arena's lock, it is in no restartable sequence.  REGS are its
 * registers. IS_PARKED: it waits in a system call that is known to be safe.  IS_STRICT:
 * uncertainties that a complete walk of its stack has resolved count all the same.  Returns true,
 * or false with WHY.
 */
bool safety_prove(struct inject_target *it, pid_t tid, const struct arch_regs *regs, bool is_parked,
	bool is_strict, struct reason *why);

/* ---- pick.c ---------------------------------------------------------------------------------- */

struct candidate {
	pid_t tid;
	bool is_parked;	 /* in a system call of the allow-list; else it is running */
	long syscall_nr; /* of a parked one, with its place: proven again after the stop */
	raddr sp, pc;
	int rank; /* lower is better */
};

struct candidates {
	struct candidate *v; /* best first */
	size_t nr, room;
	size_t nr_threads;
	size_t nr_best;	      /* than which none can be better */
	struct reason reason; /* why a thread is not among the candidates: the last one's */
	size_t nr_refused;
	size_t nr_running;
	uint64_t state; /* the same in two rounds: no thread has moved in between */
};

/* ROUND: the number of earlier calls; with many threads each round looks at others. */
int candidates_find(
	struct candidates *c, const struct inject_target *it, size_t round, struct err *e);

/* Whether C still is as it was found, so that it may be interrupted. */
bool candidate_is_unchanged(const struct candidate *c, const struct inject_target *it);

void candidates_release(struct candidates *c);
#define auto_candidates __attribute__((cleanup(candidates_release)))

/* ---- borrow.c -------------------------------------------------------------------------------- */

/* Take a thread that is proven safe.  ERR_NO_SAFE_POINT after opt->wait_ns. */
int borrow_take(struct worker *c, struct inject_target *it, const struct inject_options *opt,
	struct inject_report *report, struct err *e);

/*
 * Give the thread back as it was, down to the system call it waited in, and note held_ns.  It must
 * be stopped, with nothing left to undo.
 */
int borrow_return(struct worker *c, struct err *e);

/*
 * Give it back as borrow_return() does if it stands between two calls; else borrow_abandon().  For
 * the end of work that failed.
 */
void borrow_end(struct worker *c);

/*
 * Let it go as it is: it runs down the undo list by itself, or is back in the program.  Out of a
 * fault in a call of ours it is turned back.  Does nothing for a worker that is not ours any more.
 */
void borrow_abandon(struct worker *c);

/* ---- helper.c -------------------------------------------------------------------------------- */

/*
 * Have C make a thread that becomes the worker H.  Afterwards C has nothing left to undo: the
 * workspace is H's to unmap.  Returns 0, 1 if the target could not make a thread (C is as before),
 * or -1 with E.  The deadline is for C alone.
 */
int helper_make(struct worker *c, const struct workspace *ws, struct worker *h,
	uint64_t borrow_deadline_ns, struct err *e);

/*
 * Let H run down its undo list and end; waits a moment for that.  Does nothing for a helper that
 * has ended or never was.
 */
void helper_dismiss(struct worker *h);

/* ---- surroundings.c -------------------------------------------------------------------------- */

/*
 * Before anything is touched: whether T is not frozen and its cgroups leave it NEEDED_BYTES of
 * memory (0: what a call takes), and processor time unless OPT demands a mode. 0, or -1 with E
 * (ERR_NO_SAFE_POINT).
 */
int surroundings_check(const struct target *t, const struct inject_options *opt,
	uint64_t needed_bytes, struct err *e);

#endif
