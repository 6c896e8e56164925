/*
 * inject-priv: what the files of inject/ share.
 *
 *	target.c	what is known before anything stops
 *	safety.c	what a thread may not be in the middle of; the proof
 *	pick.c		which threads are worth trying, without stopping any
 *	borrow.c	stop one, prove it, give it back
 *	carrier.c	calls in a stopped thread, and their undo list
 *	helper.c	a pthread of the target's own for the work
 *	call.c		calls that hold malloc's locks
 *	job.c		a carrier and memory for what is to be done, put back afterwards
 *	malloc.c	malloc_info and malloc_trim on top of these
 *	load.c		a library of ours loaded into the target
 *	freeze.c	all threads stopped at once, and given back
 */
#ifndef MEMDIAG_INJECT_INJECT_PRIV_H
#define MEMDIAG_INJECT_INJECT_PRIV_H

#include "inject/arch.h"
#include "inject/inject.h"
#include "stack/stack.h"

/* glibc asks every thread to take part in setuid() with this signal (nptl/pthreadP.h). */
#define SIGSETXID 33

/* ---- what is known of the target --------------------------------------------------------------- */

/* Code that a borrowed thread may not be in the middle of. */
struct danger {
	raddr start, end;
	const char *what;	/* "malloc", "stdio" ...; static */
};

struct inject_target {
	const struct target *target;
	const struct maps *maps;
	const struct objects *objects;
	const struct arenas *arenas;	/* of the call under way */
	const struct object *libc;
	const struct object *pthread;	/* libpthread.so.0, which libc has swallowed in 2.34; NULL */
	const struct object *dl;	/* and libdl.so.2 */
	char version[16];
	struct walker *walker;
	raddr restorer;
	raddr pthread_restorer;	/* libpthread's own, {0} if it has none */
	/* functions of libc; an optional one that is missing is {0} */
	struct {
		raddr malloc_info, malloc_trim, fflush;
		raddr mmap, munmap, ppoll;
		raddr labs;	/* what a helper is started with: it does nothing */
		raddr pthread_create;			/* optional */
		raddr memfd_create, fcntl, dup2, close;	/* optional, for INJECT_CAPTURE_FD2 */
		raddr lock, syscall, madvise;		/* optional, for inject_discard() */
		raddr dlopen, dlerror, dlopen_mode;	/* optional, for inject_load() */
		raddr swab;
	} fn;
	raddr malloc_start, malloc_end;	/* malloc's own code, and at its beginning perhaps some more */
	raddr hooks;		/* the memory of hooks, set or lifted; {0}: there never were any */
	raddr mmap_entry;	/* mmap() as others call it, and how it began when it was looked at: */
	uint64_t mmap_code;	/* by that somebody's hooks are known */
	raddr stacks_lock;	/* see thread_stacks_lock() */
	raddr stderr_stream;	/* the FILE, _IO_2_1_stderr_ */
	struct {
		struct danger *v;
		size_t nr, room;
	} dangers;		/* sorted by start */
};

/* ---- safety.c ---------------------------------------------------------------------------------- */

/* Fill IT's dangers.  0, or -1 with E. */
int safety_learn(struct inject_target *it, struct err *e);

/* Why a thread was not taken: static text, or text with a name in it. */
struct reason {
	char text[96];
};

/*
 * Whether somebody has the lock that pthread_create() needs, perhaps for long: setuid() keeps it
 * until all threads have taken part.  False if that cannot be told.
 */
bool safety_is_making_threads(const struct inject_target *it);

/* Whether A lies in libc, or in libpthread or ld.so, which are parts of it. */
bool safety_is_in_libc(const struct inject_target *it, raddr a);

/* Whether A is an arena, which begins with its lock. */
bool safety_is_arena(const struct inject_target *it, raddr a);

/*
 * Whether SP of thread TID is on the stack that libc or the kernel gave it.  Coroutines and handlers
 * with a stack of their own are elsewhere, and what lies below SP there may be anybody's.
 */
bool safety_is_own_stack(const struct inject_target *it, pid_t tid, raddr sp);

/* Whether A points into code that a borrowed thread may not be in; what it is, or NULL. */
const char *safety_danger_at(const struct inject_target *it, raddr a);

/*
 * Prove that stopped thread TID may be borrowed: it is at no dangerous place and nobody on its stack
 * is, it holds no arena's lock, it is in no restartable sequence.  REGS are its registers.
 * IS_PARKED: it waits in a system call that is known to be harmless.  IS_STRICT: doubts that a
 * complete walk of its stack has answered already count all the same.
 * Returns true, or false with WHY.
 */
bool safety_prove(struct inject_target *it, pid_t tid, const struct arch_regs *regs, bool is_parked,
	bool is_strict, struct reason *why);

/* ---- pick.c ------------------------------------------------------------------------------------ */

struct candidate {
	pid_t tid;
	bool is_parked;		/* in a system call of the allow-list; else it is running */
	long syscall_nr;	/* of a parked one, with its place: proven again after the stop */
	raddr sp, pc;
	int rank;		/* lower is better */
};

struct candidates {
	struct candidate *v;	/* best first */
	size_t nr, room;
	size_t nr_threads;
	size_t nr_best;		/* than which none can be better */
	struct reason reason;	/* why a thread is not among them: the last one's */
	size_t nr_refused;
};

/* ROUND: how often it was asked before; of many threads each round looks at others. */
int candidates_find(
	struct candidates *c, const struct inject_target *it, size_t round, struct err *e);

/* Whether C still is as it was found, so that it may be interrupted. */
bool candidate_is_unchanged(const struct candidate *c, const struct inject_target *it);

void candidates_release(struct candidates *c);
#define auto_candidates __attribute__((cleanup(candidates_release)))

/*
 * Whether system call NR may be made again from its beginning when an attach has broken it off with
 * EINTR (signal(7), "interruption of system calls and library functions by stop signals").
 */
bool pick_is_repeatable(long nr);

/* ---- carrier.c --------------------------------------------------------------------------------- */

#define MAX_UNDO 8

/* A call that undoes something, and the frame in the target that makes it. */
struct undo {
	raddr frame;
	raddr fn;
	uint64_t arg[ARCH_MAX_ARGS];
	size_t nr_args;
};

/*
 * A stopped thread that makes calls for us.  Its undo list lies in the target's own memory as signal
 * frames, each of which undoes one thing and returns into the next, the last one home:
 *
 *	call() -> undo N -> ... -> undo 1 -> home
 *
 * If we die at any moment the thread runs down that list by itself.  While we live a borrowed thread
 * never does: rt_sigreturn makes the kernel forget the timeout of an interrupted call (it resets
 * restart_block), so that the call would end in EINTR.
 */
struct carrier {
	struct inject_target *it;
	pid_t tid;
	bool is_helper;
	bool is_ours;			/* attached, so it has to be let go */
	struct arch_thread saved;	/* what it was when it came to us */
	enum os_stop_kind stop;		/* why it is stopped now */
	bool is_in_syscall;		/* between a system call's entry stop and its exit stop */
	bool is_masked;
	raddr room;			/* the next frame goes below this */
	struct undo undo[MAX_UNDO];	/* undo[0] leads home */
	size_t nr_undo;
	pid_t new_tid;			/* a thread it made and we hold, 0 if none */
	int fault_sig;			/* what ended its call, if that ended by a fault */
	int64_t result;			/* of its last system call */
	uint64_t stopped_ns;
	uint64_t held_ns;		/* how long it was ours; 0 until it is given back */
	raddr arena_slot;		/* where it keeps which arena it uses; {0}: not known */
	raddr errno_at;			/* {0}: not known, and not kept */
	int32_t errno_was;
};

enum carrier_end {
	CARRIER_RETURNED,
	CARRIER_TIMEOUT,	/* still at it, running */
	CARRIER_FAULT,		/* a signal of its own doing: stopped at the fault */
	CARRIER_GONE,		/* the thread or the whole program is no more */
};

/* Lay the frame that leads home.  The thread must be stopped and saved. */
int carrier_begin(struct carrier *c, struct err *e);

/* Let FN(ARG...) be called on the way back, before what is on the list already. */
int carrier_undo(
	struct carrier *c, raddr fn, const uint64_t *arg, size_t nr_args, struct err *e);

/*
 * The same, and for good: also if C is let go, or we die, before it makes another call.  C must stand
 * between two calls.
 */
int carrier_promise(
	struct carrier *c, raddr fn, const uint64_t *arg, size_t nr_args, struct err *e);

/*
 * Call FN(ARG...) and wait until it has returned, stopped before the undo list begins.
 * c->result is what its last system call returned.  -1 with E if ptrace fails.
 */
int carrier_call(struct carrier *c, raddr fn, const uint64_t *arg, size_t nr_args,
	uint64_t deadline_ns, enum carrier_end *ret, struct err *e);

/*
 * As carrier_call(), of a function that makes one system call, in c->result; -1 with E, told as DID,
 * also if it does not return or the system call fails.
 */
int carrier_syscall(struct carrier *c, raddr fn, const uint64_t *arg, size_t nr_args,
	uint64_t deadline_ns, const char *did, struct err *e);

/* Let one go on with its call that was stopped in the middle of it.  The rest as carrier_call(). */
int carrier_go_on(
	struct carrier *c, uint64_t deadline_ns, enum carrier_end *ret, struct err *e);

/* As carrier_call(), but with no stop at system calls: let it run and return at once. */
int carrier_launch(
	struct carrier *c, raddr fn, const uint64_t *arg, size_t nr_args, struct err *e);

/*
 * Stop a carrier that runs; or only wait until one that was interrupted has stopped.  -1 with E if
 * it does not within 200 ms, or has ended.
 */
int carrier_stop(struct carrier *c, struct err *e);
int carrier_await(struct carrier *c, struct err *e);
/* As carrier_stop(), but it may take until DEADLINE_NS if that is later. */
int carrier_stop_by(struct carrier *c, uint64_t deadline_ns, struct err *e);

/* Make the calls of the undo list until LEVEL of them are left; 1 is the way home alone. */
int carrier_unwind(struct carrier *c, size_t level, uint64_t deadline_ns, struct err *e);

/* Wherever a stopped carrier is, send it down the undo list when it runs next. */
int carrier_turn_back(struct carrier *c, struct err *e);

/* Stop a carrier in a call that does not come back.  True if it waited for the lock of an arena. */
bool carrier_stop_waiting(struct carrier *c);

/* Note in C which end of a system call STOP is; kernels before 5.3 leave it to be counted. */
void carrier_note_phase(struct carrier *c, const struct os_stop *stop);

/* Whether a signal that stopped a carrier is of its own doing, and no one's message to the program. */
bool carrier_is_fault(const struct os_stop *stop);

/* Say in E what a call's bad end means. */
int carrier_explain(
	const struct carrier *c, enum carrier_end end, const char *call, struct err *e);

/* ---- borrow.c ---------------------------------------------------------------------------------- */

/* Take a thread that is proven safe.  ERR_NO_SAFE_POINT after opt->wait_ns. */
int borrow_take(struct carrier *c, struct inject_target *it, const struct inject_options *opt,
	struct inject_report *report, struct err *e);

/*
 * Give the thread back as it was, down to the system call it waited in, and note held_ns.  It must
 * be stopped, with nothing left to undo.
 */
int borrow_return(struct carrier *c, struct err *e);

/*
 * Change R, the registers of a thread that was just stopped, so that a system call which the stop
 * has broken off is made again (arch_rewind()).  False: there was none.
 */
bool borrow_mend(struct arch_regs *r);

/*
 * Let it go as it is: it runs down the undo list by itself.  Out of a fault it is turned back.  Does
 * nothing for a carrier that is not ours any more.
 */
void borrow_abandon(struct carrier *c);

/* ---- freeze.c ---------------------------------------------------------------------------------- */

/* One thread of a target that is being stopped. */
struct frozen {
	pid_t tid;
	enum { FROZEN_NOT, FROZEN_STANDS, FROZEN_GONE } state;
	struct os_stop stop;	/* of one that stands */
	uint64_t since_ns;	/* it stands since then, or less long */
};

struct freeze {
	const struct target *target;
	struct {
		struct frozen *v;	/* by tid */
		size_t nr, room;
	} thread;
	uint64_t begun_ns;	/* when we began to attach */
	uint64_t started_ns;	/* when the first was interrupted */
	uint64_t still_ns;	/* when the last had stopped */
	bool has_exec;
};

/*
 * Stop all threads of T but EXCEPT (0: none), which must stand still already.  Only in os_trace().
 * Threads that do not stop in half of MAX_NS: ERR_NO_SAFE_POINT, and all are let go.
 */
int freeze_begin(struct freeze *f, const struct target *t, pid_t except, uint64_t max_ns,
	struct err *e);

/* Let all threads go.  RET may be NULL.  Does nothing the second time. */
void freeze_end(struct freeze *f, struct inject_freeze *ret);

/* ---- helper.c ---------------------------------------------------------------------------------- */

/* Memory of our own in the target. */
struct workspace {
	raddr start;
	uint64_t size_bytes;
	raddr stack_top;	/* a stack for calls ends here */
	raddr data;		/* a page for what calls are given */
	raddr buffer;		/* what malloc_info writes */
	uint64_t buffer_bytes;
};

/* Have C map a workspace with room for BUFFER_BYTES; unmapping it is put on the undo list. */
int workspace_map(struct carrier *c, struct workspace *ws, uint64_t buffer_bytes,
	uint64_t deadline_ns, struct err *e);

/* ---- call.c ------------------------------------------------------------------------------------ */

/* A call that may take long, with locks of libc held. */
struct long_call {
	const char *name;
	raddr fn;
	uint64_t arg[2];
	size_t nr_args;
	bool holds_more;	/* it has other locks while it waits for an arena's */
	bool is_last;	/* a helper has nothing more to do for us afterwards: it ends */
	uint64_t deadline_ns;
};

/*
 * Have C make it.  Afterwards C is stopped, its undo list as before; or it has ended, if the call
 * was its last.  *RET_NS: how long it took.
 */
int long_call_make(const struct long_call *call, struct carrier *c, const struct workspace *ws,
	uint64_t *ret_ns, struct err *e);

/*
 * Have C make a thread that becomes the carrier H.  Afterwards C has nothing left to undo: the
 * workspace is H's to unmap.  Returns 0, 1 if the target could not make a thread (C is as before),
 * or -1 with E.  One deadline is for C, the other for H to be ready.
 */
int helper_make(struct carrier *c, const struct workspace *ws, struct carrier *h,
	uint64_t borrow_deadline_ns, uint64_t start_deadline_ns, struct err *e);

/*
 * Let H run down its undo list and end; waits a moment for that.  Does nothing for a helper that has
 * ended or never was.
 */
void helper_dismiss(struct carrier *h);

/* ---- job.c ------------------------------------------------------------------------------------- */

/* Work that is done in the target; the first members are the caller's to fill. */
struct job {
	struct inject_target *it;
	const struct inject_options *opt;
	struct inject_report *report;
	uint64_t buffer_bytes;	/* of the workspace */
	/*
	 * Do it.  The carrier comes stopped, with its undo list laid, and goes stopped in front of
	 * that list; or running home (stop is OS_STOP_TIMEOUT), or gone.
	 */
	int (*run)(struct job *job, struct carrier *c, const struct workspace *ws, struct err *e);
	void *arg;		/* run's own */
	uint64_t deadline_ns;	/* of what RUN does */
	int status;
	struct err *e;
};

/* Have it done in the target, whose arenas are A. */
int job_run(struct job *job, const struct arenas *a, struct err *e);

#endif
