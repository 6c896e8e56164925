/*
 * worker: calls in a stopped thread of the target, and the list of calls that undo them.
 */
#ifndef MEMDIAG_INJECT_WORKER_H
#define MEMDIAG_INJECT_WORKER_H

#include "inject/target.h"
#include "os/ptrace.h"
#include "stop/timeout.h"

#define MAX_UNDO 12

/*
 * Memory of the target that a worker may write to, [START, END): the part below the red zone of its
 * own stack, or the workspace.  Frames are laid from ROOM downwards, but not below LOW: the rest is
 * for the calls that return into them.
 */
struct ground {
	raddr start, end;
	raddr low, room;
	/*
	 * The first words of a workspace, 0 for a stack.  As long as they are there, so is the
	 * workspace: memory that the program maps in its place has other contents.
	 */
	uint64_t mark[2];
};

/* A call that undoes something, and the frame in the target that makes it. */
struct undo {
	raddr frame;
	raddr fn;
	uint64_t arg[ARCH_MAX_ARGS];
	size_t nr_args;
	struct ground before; /* the worker's ground before the frame was laid */
};

/*
 * A stopped thread that makes calls for us.  Its undo list lies in the target's own memory as
 * signal frames, each of which undoes one thing and returns into the next; the last one is the
 * return frame:
 *
 *	call() -> undo N -> ... -> undo 1 -> back
 *
 * If we die at any moment the thread runs down that list by itself.  The return frame makes the
 * interrupted system call again with the rest of its timeout: rt_sigreturn makes the kernel forget
 * the call (it resets restart_block), so that one that was to be continued would end in EINTR.
 */
struct worker {
	struct inject_target *callee;
	pid_t tid;
	bool is_helper;
	bool is_ours;		  /* attached, so it must be let go */
	struct arch_thread saved; /* its state when it was borrowed */
	struct timeout timeout;	  /* of the call that it waits in */
	enum os_stop_kind stop;	  /* why it is stopped now */
	bool is_in_syscall;	  /* between a system call's entry stop and its exit stop */
	bool is_masked;
	/*
	 * It has run without a stop at each system call, and may have returned to the program
	 * unseen.
	 */
	bool is_loose;
	uint64_t proven_nr; /* the stop in which it was last proven to be in one of our calls */
	struct ground ground;
	struct undo undo[MAX_UNDO]; /* undo[0] leads back to the program */
	size_t nr_undo;
	pid_t new_tid;	/* a thread that it made and we hold; 0: no such thread */
	int fault_sig;	/* the signal, if a fault ended its call */
	int64_t result; /* of its last system call */
	uint64_t stopped_ns;
	uint64_t held_ns; /* how long it was ours; 0 until it is given back */
	/*
	 * a system call of a helper that its seccomp filters do not allow; NULL if they allow all
	 */
	const char *no_helper;
	raddr arena_slot; /* where it keeps which arena it uses; {0} if unknown */
	raddr errno_at;	  /* {0} if unknown: errno is not kept then */
	int32_t errno_was;
};

enum worker_end {
	WORKER_RETURNED,
	WORKER_TIMEOUT, /* still in the call, running */
	WORKER_FAULT,	/* a signal that it caused itself: stopped at the fault */
	WORKER_GONE,	/* the thread or the whole program has ended */
};

/* Lay the frame that leads back to the program.  The thread must be stopped and saved. */
int worker_begin(struct worker *c, struct err *e);

/*
 * Write SIZE bytes to memory of C's ground; C is stopped.  Fails before anything is written if they
 * do not lie in it or C cannot be proven to be in one of our calls; fails also if they cannot be
 * written.
 */
int worker_write(struct worker *c, raddr to, const void *from, size_t size, struct err *e);

/*
 * Prove that C, which is stopped, has not run since its registers were saved, or is in one of our
 * calls: its stack pointer is on its ground, and if it is loose, that is a workspace that still
 * exists.  Otherwise it may be in the program, and nothing of it may be changed.  0, or -1 with E.
 */
int worker_prove_in_call(struct worker *c, struct err *e);

/* As worker_prove_in_call(), and allow c->saved to be restored in this stop. */
int worker_claim(struct worker *c, struct err *e);

/* Return whether the workspace that is C's ground still exists. */
bool worker_has_workspace(const struct worker *c);

/* Have FN(ARG...)  called on the way back, before the calls that are on the list already. */
int worker_undo(struct worker *c, raddr fn, const uint64_t *arg, size_t nr_args, struct err *e);

/*
 * Have C lay its frames on the workspace [START, END) from now on, below STACK_TOP, and unmap it on
 * the way back.
 */
int worker_enter_workspace(
	struct worker *c, raddr start, raddr stack_top, raddr end, struct err *e);

/* Remove the topmost call from the list, unmade: C must not be on its way through that frame. */
void worker_drop(struct worker *c);

/*
 * As worker_undo(), but the call is made even if C is let go, or we die, before C makes another
 * call.  C must be stopped between two calls.
 */
int worker_promise(struct worker *c, raddr fn, const uint64_t *arg, size_t nr_args, struct err *e);

/*
 * Call FN(ARG...)  and wait until it has returned; C is then stopped before the undo list begins.
 * c->result is what its last system call returned.  -1 with E if ptrace fails.
 */
int worker_call(struct worker *c, raddr fn, const uint64_t *arg, size_t nr_args,
	uint64_t deadline_ns, enum worker_end *ret, struct err *e);

/*
 * As worker_call(), for a function that makes one system call, whose result is in c->result; -1
 * with E, which names DID, also if it does not return or the system call fails.
 */
int worker_syscall(struct worker *c, raddr fn, const uint64_t *arg, size_t nr_args,
	uint64_t deadline_ns, const char *did, struct err *e);

/* Continue a call that was stopped in the middle.  Otherwise as worker_call(). */
int worker_go_on(struct worker *c, uint64_t deadline_ns, enum worker_end *ret, struct err *e);

/* As worker_call(), but with no stop at system calls: let it run and return immediately. */
int worker_launch(struct worker *c, raddr fn, const uint64_t *arg, size_t nr_args, struct err *e);

/* As worker_launch(), but the worker first takes signal SIG, which is about to be delivered. */
int worker_relaunch(
	struct worker *c, raddr fn, const uint64_t *arg, size_t nr_args, int sig, struct err *e);

/* A call that follows another. */
struct next_call {
	raddr fn;
	uint64_t arg[ARCH_MAX_ARGS];
	size_t nr_args;
};

/*
 * Lay a frame below ROOM, in C's ground, and store its address in *RET: a thread whose stack
 * pointer is there when it returns from a call makes CALL.  0, or -1 with E.
 */
int worker_lay(
	struct worker *c, const struct next_call *call, raddr room, raddr *ret, struct err *e);

/*
 * As worker_launch(), but the way back leads through the calls NEXT, one after the other, before
 * the undo list.  Their frames are laid below ROOM, and the stack of all calls is below these.
 */
int worker_launch_with(struct worker *c, raddr fn, const uint64_t *arg, size_t nr_args,
	const struct next_call *next, size_t nr_next, raddr room, struct err *e);

/*
 * Stop a worker that runs.  One that returns from its call meanwhile is left as by worker_call()
 * (c->stop is OS_STOP_SYSCALL).  -1 with E if it does not stop within 200 ms, or has ended.
 */
int worker_stop(struct worker *c, struct err *e);
/*
 * As worker_stop(), or only wait until an interrupted worker has stopped; but a thread that only
 * lacks a processor has 2 s: let go, it would find that its call has failed, or the report of a
 * call that was made would be lost.
 */
int worker_stop_starved(struct worker *c, struct err *e);
int worker_await_starved(struct worker *c, struct err *e);

/*
 * Make the calls of the undo list until LEVEL of them are left; 1 is only the way back to the
 * program.
 */
int worker_unwind(struct worker *c, size_t level, uint64_t deadline_ns, struct err *e);

/*
 * Restore errno of a borrowed thread on the way to the program, from four bytes at AT, with swab(),
 * the one old function of libc that copies and has no variants.  Does nothing if the address of
 * errno is unknown, or if that call is on the list already.
 */
int worker_keep_errno(struct worker *c, raddr at, struct err *e);

/* Send a stopped worker, wherever it is, down the undo list when it runs next. */
int worker_turn_back(struct worker *c, struct err *e);

/* Stop a worker in a call that does not return.  Returns true if it waited for an arena's lock. */
bool worker_stop_waiting(struct worker *c);

/* Record in C which end of a system call STOP is; before Linux 5.3 that must be counted. */
void worker_note_phase(struct worker *c, const struct os_stop *stop);

/* Return whether worker C itself caused the signal that stopped it, and no other sender did. */
bool worker_is_fault(const struct worker *c, const struct os_stop *stop);

/* Describe in E how a call ended badly. */
int worker_explain(const struct worker *c, enum worker_end end, const char *call, struct err *e);

#endif
