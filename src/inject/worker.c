/* Calls in a stopped thread.  doc/internals/inject.md draws the frames. */
#include <config.h>

#include "inject/birth.h"
#include "inject/inject-priv.h"
#include "inject/needs.h"
#include "inject/safety-priv.h"
#include "inject/worker.h"
#include "os/clock.h"
#include "os/memory.h"
#include "os/part.h"
#include "os/proc.h"
#include "os/ptrace.h"
#include "os/status.h"
#include "os/stops.h"
#include "os/target.h"
#include "stop/registers.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STOP_WITHIN_NS 200000000
/* Room on the thread's own stack for mmap, the one call made on it. */
#define CALL_BYTES 512
/* Room on the workspace for other calls. */
#define WORKSPACE_CALL_BYTES UINT64_C(24576)

#define STARVED_NS UINT64_C(2000000000)

/*
 * The signals that are not blocked during a call, unless the thread itself blocks them.
 *
 * Signals that a fault forces: if they were blocked the kernel would reset their handlers for the
 * whole process (kernel/signal.c, force_sig_info_to_task).  SIGABRT: abort() sets it to its default
 * when it has to send it twice.  SIGSETXID: setuid() in one thread asks all others to take part
 * with it, and until they have, holds the lock of the stack cache, which pthread_create() waits for
 * (nptl/nptl_setxid.c).
 */
#define BIT(sig) (UINT64_C(1) << ((sig)-1))
#define FAULTS                                                                                     \
	(BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGSYS) |     \
		BIT(SIGABRT))
#define UNBLOCKED (FAULTS | BIT(SIGSETXID))

static uint64_t
mask_of_calls(const struct worker *c)
{
	return ~UNBLOCKED | c->saved.sigmask;
}

/* ---- where it is ---- */

bool
worker_has_workspace(const struct worker *c)
{
	const struct ground *g = &c->ground;
	uint64_t found[2];
	struct err e;

	return g->mark[0] && os_read(c->callee->target, g->start, found, sizeof found, &e) == 0 &&
		memcmp(found, g->mark, sizeof found) == 0;
}

static bool
is_in_call(const struct worker *c)
{
	struct arch_regs r;
	struct err e;

	return arch_get_regs(c->tid, &r, &e) == 0 && arch_sp(&r).v >= c->ground.start.v &&
		arch_sp(&r).v <= c->ground.end.v &&
		(c->ground.mark[0] ? worker_has_workspace(c) : !c->is_loose);
}

int
worker_prove_in_call(struct worker *c, struct err *e)
{
	const uint64_t nr = os_stop_nr(c->tid);

	if (nr && nr == c->proven_nr)
		return 0;
	if (!nr || !is_in_call(c))
		return err_set_kind(e, ERR_FAILED, 0,
			"thread %d of %d (%s) came back to the program before memdiag could stop it",
			c->tid, c->callee->target->pid, c->callee->target->comm);
	c->proven_nr = nr;
	c->is_loose = false;
	return 0;
}

int
worker_claim(struct worker *c, struct err *e)
{
	if (worker_prove_in_call(c, e) < 0)
		return -1;
	registers_carry(c->tid, &c->saved.regs);
	return 0;
}

/* ---- frames ---- */

static raddr
top_frame(const struct worker *c)
{
	return c->undo[c->nr_undo - 1].frame;
}

int
worker_write(struct worker *c, raddr to, const void *from, size_t size, struct err *e)
{
	const struct ground *g = &c->ground;
	const struct os_part part = { g->mark[0] ? "the workspace"
						 : "the stack below a thread's own",
		g->start, g->end.v - g->start.v };

	return worker_prove_in_call(c, e) < 0
		? -1
		: os_part_write(c->callee->target, &part, to, from, size, e);
}

/* Lay F, and make GROUND the ground of C. */
static int
push_frame(struct worker *c, const struct ground *ground, const struct arch_frame *f,
	const struct undo *undo, struct err *e)
{
	const struct ground before = c->ground;

	if (c->nr_undo == MAX_UNDO || f->addr.v < ground->low.v)
		return err_set(e, 0, "too much to undo in thread %d", c->tid);
	c->ground = *ground;
	if (worker_write(c, f->addr, f->bytes, f->size_bytes, e) < 0) {
		c->ground = before;
		return -1;
	}
	c->ground.room = f->addr;
	c->undo[c->nr_undo] = *undo;
	c->undo[c->nr_undo].before = before;
	c->undo[c->nr_undo++].frame = f->addr;
	return 0;
}

void
worker_drop(struct worker *c)
{
	c->ground = c->undo[--c->nr_undo].before;
}

/* Return whether the memory from SP down to FRAME, and more for a small call, is the same stack. */
static bool
worker_has_room(const struct worker *c, raddr sp, raddr frame)
{
	const struct regions *m = &c->callee->process->maps;
	raddr low = { frame.v - CALL_BYTES };
	const struct region *stack = regions_find(m, low);
	char below[CALL_BYTES];
	struct err e;

	/* A helper's stack is younger than the map. */
	if (stack != regions_find(m, sp))
		return false;
	if (os_read_present(c->callee->target, low, below, sizeof below, &e) == 0)
		return true;
	/*
	 * Reading a page of a file waits for its server, which may be the target itself, and not
	 * even SIGKILL ends that wait.  A page of anonymous memory is made, unless it is a guard.
	 */
	return !(stack && stack->inode) &&
		os_read(c->callee->target, low, below, sizeof below, &e) == 0;
}

/*
 * Set *RET to registers with which the thread enters FN(ARG...) and returns into FRAME, and write
 * the return address into FRAME, if it belongs there.  -1 with E if it cannot be written.
 */
static int
worker_prepare(struct worker *c, raddr fn, const uint64_t *arg, size_t nr_args, raddr frame,
	struct arch_regs *ret, struct err *e)
{
	*ret = c->saved.regs;
	arch_prepare_call(ret, fn, arg, nr_args, c->callee->restorer, frame);
	return arch_returns_by_frame
		? worker_write(c, frame, &c->callee->restorer, sizeof c->callee->restorer, e)
		: 0;
}

int
worker_begin(struct worker *c, struct err *e)
{
	struct arch_regs own = c->saved.regs;
	raddr sp = arch_sp(&own), room = { sp.v - arch_red_zone_bytes };
	struct arch_frame f;

	arch_settle(&own);
	if (raddr_in(c->timeout.at, (raddr){ room.v - TIMEOUT_BYTES }, room))
		room.v -= TIMEOUT_BYTES;
	arch_build_frame(&f, room, &own, c->saved.sigmask, &c->saved, c->callee->restorer);
	if (!worker_has_room(c, sp, f.addr))
		return err_set(e, 0, "no room on the stack of thread %d", c->tid);
	c->is_loose = false;
	c->proven_nr = c->saved.regs.stop_nr;
	return push_frame(c,
		&(struct ground){ .start = f.addr, .end = room, .low = f.addr, .room = room }, &f,
		&(struct undo){ 0 }, e);
}

/* Put FN(ARG...) on the undo list, in a frame on GROUND. */
static int
undo_on(struct worker *c, const struct ground *ground, raddr fn, const uint64_t *arg,
	size_t nr_args, struct err *e)
{
	struct undo undo = { .fn = fn, .nr_args = nr_args };
	struct arch_regs regs;
	struct arch_frame f;

	if (worker_prepare(c, fn, arg, nr_args, top_frame(c), &regs, e) < 0)
		return -1;
	memcpy(undo.arg, arg, nr_args * sizeof *arg);
	/* Signals are delivered only after the return to the program. */
	arch_build_frame(&f, ground->room, &regs, mask_of_calls(c), &c->saved, c->callee->restorer);
	return push_frame(c, ground, &f, &undo, e);
}

int
worker_undo(struct worker *c, raddr fn, const uint64_t *arg, size_t nr_args, struct err *e)
{
	const struct ground ground = c->ground;

	return undo_on(c, &ground, fn, arg, nr_args, e);
}

int
worker_enter_workspace(struct worker *c, raddr start, raddr stack_top, raddr end, struct err *e)
{
	const struct ground ground = { .start = start,
		.end = end,
		.low = raddr_add(start, WORKSPACE_CALL_BYTES),
		.room = stack_top,
		.mark = { os_now_ns(), (uint64_t)c->tid } };
	const uint64_t arg[] = { start.v, end.v - start.v };

	return undo_on(c, &ground, c->callee->fn.munmap, arg, 2, e) < 0
		? -1
		: worker_write(c, start, ground.mark, sizeof ground.mark, e);
}

/* ---- running ---- */

/*
 * Return whether C itself has just sent a signal to itself, and no other thread did: then it is at
 * the end of that system call; before 2.34 of the one by which raise() unblocks signals afterwards
 * (sysdeps/unix/sysv/linux/raise.c).
 */
static bool
has_raised(const struct worker *c)
{
	struct arch_regs regs;
	struct err e;
	long nr;

	if (arch_get_regs(c->tid, &regs, &e) < 0)
		return false;
	nr = arch_syscall_nr(&regs);
	return nr == SYS_tgkill ||
		(nr == SYS_rt_sigprocmask && needs_release(c->callee->version) < 2034);
}

bool
worker_is_fault(const struct worker *c, const struct os_stop *stop)
{
	return stop->is_own && stop->sig < SIGSETXID && FAULTS & BIT(stop->sig) &&
		(stop->sig != SIGABRT || has_raised(c));
}

void
worker_note_phase(struct worker *c, const struct os_stop *stop)
{
	c->is_in_syscall =
		stop->phase == OS_PHASE_UNKNOWN ? !c->is_in_syscall : stop->phase == OS_PHASE_ENTRY;
}

/* Return whether the thread is stopped at the entry of rt_sigreturn into the topmost frame. */
static bool
has_returned(const struct worker *c, const struct arch_regs *r)
{
	struct arch_regs at = *r;

	if (!arch_is_sigreturn(r, c->callee->restorer))
		return false;
	arch_prepare_return(&at, c->callee->restorer, top_frame(c));
	return arch_sp(&at).v == arch_sp(r).v;
}

/*
 * Handle one stop.  Returns 1 with *RET when the run is over, 0 to continue with *RET_SIG, -1 on
 * failure.
 */
static int
worker_take_stop(struct worker *c, const struct os_stop *stop, enum worker_end *ret, int *ret_sig,
	struct err *e)
{
	struct arch_regs regs;

	c->stop = stop->kind;
	*ret_sig = 0;
	switch (stop->kind) {
	case OS_STOP_TIMEOUT:
		*ret = WORKER_TIMEOUT;
		return 1;
	case OS_STOP_GONE:
		c->is_ours = false;
		/* fall through */
	case OS_STOP_EXEC:
		*ret = WORKER_GONE;
		return 1;
	case OS_STOP_CLONE:
		c->new_tid = stop->new_tid;
		return 0;
	case OS_STOP_EVENT:
	case OS_STOP_GROUP:
		return 0;
	case OS_STOP_SIGNAL:
		*ret = WORKER_FAULT;
		*ret_sig = c->fault_sig = stop->sig;
		return worker_is_fault(c, stop);
	case OS_STOP_SYSCALL:
		break;
	}
	worker_note_phase(c, stop);
	if (arch_get_regs(c->tid, &regs, e) < 0)
		return -1;
	if (!c->is_in_syscall) {
		c->result = arch_result(&regs);
		birth_note_exit(c->callee->target, c->tid, &regs);
		return 0;
	}
	*ret = WORKER_RETURNED;
	return has_returned(c, &regs);
}

/*
 * Wait for the next stop.  Only a thread that waits for another thread's lock gets no more time:
 * one that gets no processor, or waits for the kernel's locks, would not be faster alone.
 */
static int
await_stop(struct worker *c, uint64_t deadline_ns, struct os_stop *ret, struct err *e)
{
	const uint64_t last_ns = deadline_ns + STARVED_NS;
	struct os_syscall s;
	struct err ignored;

	for (;;) {
		if (os_wait(c->tid, deadline_ns, ret, e) < 0)
			return -1;
		if (ret->kind == OS_STOP_TIMEOUT && !target_is_alive(c->callee->target))
			ret->kind = OS_STOP_GONE;
		if (ret->kind != OS_STOP_TIMEOUT || deadline_ns >= last_ns ||
			os_thread_syscall(c->callee->target, c->tid, &s, &ignored) < 0 ||
			(!s.is_running && s.nr == SYS_futex))
			return 0;
		deadline_ns += STARVED_NS / 20;
	}
}

int
worker_go_on(struct worker *c, uint64_t deadline_ns, enum worker_end *ret, struct err *e)
{
	struct os_stop stop;
	int over, sig = 0;

	do {
		if (os_resume(c->tid, OS_RESUME_TO_SYSCALL, sig, e) < 0 ||
			await_stop(c, deadline_ns, &stop, e) < 0)
			return -1;
		over = worker_take_stop(c, &stop, ret, &sig, e);
	} while (!over);
	return over < 0 ? -1 : 0;
}

/*
 * Run from the entry of a system call to its exit, so that the thread is where the topmost frame
 * has it.  If the call were skipped, a seccomp filter would see number -1, and may end the process
 * for calls it does not list (since 4.8 it runs after the stop: arch/x86/entry/common.c,
 * syscall_trace_enter()).
 */
static int
worker_leave_syscall(struct worker *c, struct err *e)
{
	struct os_stop stop;

	if (os_resume(c->tid, OS_RESUME_TO_SYSCALL, 0, e) < 0 ||
		os_wait(c->tid, os_now_ns() + STARVED_NS, &stop, e) < 0)
		return -1;
	c->stop = stop.kind;
	c->is_in_syscall = false;
	if (stop.kind == OS_STOP_SYSCALL) {
		/* No instruction was executed since it was proven. */
		c->proven_nr = os_stop_nr(c->tid);
		return 0;
	}
	c->is_ours = stop.kind != OS_STOP_GONE;
	return worker_explain(c, stop.kind == OS_STOP_TIMEOUT ? WORKER_TIMEOUT : WORKER_GONE,
		"the end of a call", e);
}

/*
 * Set the registers first, then the mask: if memdiag dies in between, the frames that they lead to
 * run with signals allowed and return to the program; in the other order the thread would block all
 * signals for ever.
 */
static int
send_to(struct worker *c, const struct arch_regs *regs, struct err *e)
{
	bool leaves = c->is_in_syscall;
	struct arch_regs now = *regs;

	if (worker_prove_in_call(c, e) < 0 || (leaves && worker_leave_syscall(c, e) < 0) ||
		worker_claim(c, e) < 0)
		return -1;
	now.stop_nr = c->saved.regs.stop_nr;
	if (registers_set(c->tid, &now, e) < 0)
		return -1;
	if (c->is_masked && !leaves) /* a frame restores its own mask */
		return 0;
	if (registers_set_mask(c->tid, &c->saved, mask_of_calls(c), e) < 0)
		return -1;
	c->is_masked = true;
	return 0;
}

static int
worker_enter(struct worker *c, raddr fn, const uint64_t *arg, size_t nr_args, struct err *e)
{
	struct arch_regs regs;

	return worker_prepare(c, fn, arg, nr_args, top_frame(c), &regs, e) < 0
		? -1
		: send_to(c, &regs, e);
}

int
worker_call(struct worker *c, raddr fn, const uint64_t *arg, size_t nr_args, uint64_t deadline_ns,
	enum worker_end *ret, struct err *e)
{
	if (worker_enter(c, fn, arg, nr_args, e) < 0)
		return -1;
	return worker_go_on(c, deadline_ns, ret, e);
}

int
worker_syscall(struct worker *c, raddr fn, const uint64_t *arg, size_t nr_args,
	uint64_t deadline_ns, const char *did, struct err *e)
{
	enum worker_end end;

	if (worker_call(c, fn, arg, nr_args, deadline_ns, &end, e) < 0)
		return -1;
	if (end != WORKER_RETURNED)
		return worker_explain(c, end, did, e);
	if (c->result < 0 && c->result > -4096)
		return err_set(e, (int)-c->result, "%s failed in %d (%s)", did,
			c->callee->target->pid, c->callee->target->comm);
	return 0;
}

int
worker_unwind(struct worker *c, size_t level, uint64_t deadline_ns, struct err *e)
{
	enum worker_end end;

	while (c->nr_undo > level) {
		const struct undo u = c->undo[c->nr_undo - 1];

		/* Prove it while its ground is the one that its stack pointer is on. */
		if (worker_prove_in_call(c, e) < 0)
			return -1;
		worker_drop(c);
		if (worker_call(c, u.fn, u.arg, u.nr_args, deadline_ns, &end, e) < 0)
			return -1;
		if (end != WORKER_RETURNED)
			return worker_explain(c, end, "putting things back", e);
	}
	return 0;
}

static int
run_loose(struct worker *c, int sig, struct err *e)
{
	c->is_in_syscall = false; /* the next stop does not belong to a system call */
	c->is_loose = true;
	return os_resume(c->tid, OS_RESUME_FREE, sig, e);
}

int
worker_relaunch(
	struct worker *c, raddr fn, const uint64_t *arg, size_t nr_args, int sig, struct err *e)
{
	return worker_enter(c, fn, arg, nr_args, e) < 0 ? -1 : run_loose(c, sig, e);
}

int
worker_launch(struct worker *c, raddr fn, const uint64_t *arg, size_t nr_args, struct err *e)
{
	return worker_relaunch(c, fn, arg, nr_args, 0, e);
}

/* Lay a frame for CALL below ROOM that returns into *RET, and make *RET this frame. */
static int
lay_frame(struct worker *c, const struct next_call *call, raddr room, raddr *ret, struct err *e)
{
	struct arch_frame f;
	struct arch_regs regs;

	if (worker_prepare(c, call->fn, call->arg, call->nr_args, *ret, &regs, e) < 0)
		return -1;
	arch_build_frame(&f, room, &regs, mask_of_calls(c), &c->saved, c->callee->restorer);
	if (worker_write(c, f.addr, f.bytes, f.size_bytes, e) < 0)
		return -1;
	*ret = f.addr;
	return 0;
}

int
worker_lay(struct worker *c, const struct next_call *call, raddr room, raddr *ret, struct err *e)
{
	*ret = top_frame(c);
	return lay_frame(c, call, room, ret, e);
}

/*
 * Lay the frames of NEXT below ROOM, the first to be made at the bottom, the last one returning
 * into *RET, which becomes the first one's frame.
 */
static int
lay_next(struct worker *c, const struct next_call *next, size_t nr_next, raddr room, raddr *ret,
	struct err *e)
{
	while (nr_next--) {
		if (lay_frame(c, &next[nr_next], room, ret, e) < 0)
			return -1;
		room = *ret;
	}
	return 0;
}

int
worker_launch_with(struct worker *c, raddr fn, const uint64_t *arg, size_t nr_args,
	const struct next_call *next, size_t nr_next, raddr room, struct err *e)
{
	struct undo *top = &c->undo[c->nr_undo - 1];
	const raddr kept = top->frame;
	int failed;

	/* The call returns into the first of these frames, and the last of them into the top. */
	if (lay_next(c, next, nr_next, room, &top->frame, e) < 0) {
		top->frame = kept;
		return -1;
	}
	failed = worker_launch(c, fn, arg, nr_args, e);
	top->frame = kept;
	return failed;
}

int
worker_promise(struct worker *c, raddr fn, const uint64_t *arg, size_t nr_args, struct err *e)
{
	return worker_undo(c, fn, arg, nr_args, e) < 0 ? -1 : worker_turn_back(c, e);
}

/* ---- leaving a call early ---- */

/* Return whether C, stopped at one end of a system call, has returned from its call. */
static bool
stands_in_return(struct worker *c, const struct os_stop *stop)
{
	struct arch_regs regs;
	struct err e;

	worker_note_phase(c, stop);
	return c->nr_undo && c->is_in_syscall && arch_get_regs(c->tid, &regs, &e) == 0 &&
		has_returned(c, &regs);
}

static int
await_interrupt(struct worker *c, uint64_t deadline_ns, struct err *e)
{
	struct os_stop stop;

	for (;;) {
		if (os_wait(c->tid, deadline_ns, &stop, e) < 0)
			return -1;
		c->stop = stop.kind;
		if (stop.kind == OS_STOP_TIMEOUT)
			return err_set(e, 0, "thread %d does not stop", c->tid);
		if (stop.kind == OS_STOP_GONE)
			c->is_ours = false;
		if (stop.kind == OS_STOP_GONE || stop.kind == OS_STOP_EXEC)
			return err_set_kind(e, ERR_GONE, 0, "thread %d has ended", c->tid);
		if (stop.kind == OS_STOP_CLONE)
			os_detach_later(stop.new_tid);
		if (stop.kind == OS_STOP_SYSCALL && stands_in_return(c, &stop))
			return 0;
		/* After such a stop no exit stop follows that could be mistaken for an entry. */
		c->is_in_syscall = false;
		if (stop.kind == OS_STOP_EVENT || stop.kind == OS_STOP_GROUP)
			return 0;
		/*
		 * Every stop makes the kernel forget the interrupt (kernel/signal.c, ptrace_stop).
		 */
		if (os_interrupt(c->tid, e) < 0 ||
			run_loose(c, stop.kind == OS_STOP_SIGNAL ? stop.sig : 0, e) < 0)
			return -1;
	}
}

/* Wait until the interrupted thread has stopped.  Returns as worker_stop(). */
static int
worker_await(struct worker *c, struct err *e)
{
	return await_interrupt(c, os_now_ns() + STOP_WITHIN_NS, e);
}

int
worker_stop(struct worker *c, struct err *e)
{
	return os_interrupt(c->tid, e) < 0 ? -1 : worker_await(c, e);
}

/*
 * Return how long the thread has had a processor so far, the first number of schedstat; 0 if
 * unknown.
 */
static uint64_t
cpu_time_ns(const struct worker *c)
{
	auto_text struct text text = { 0 };
	struct err e;

	return os_proc_read(c->callee->target, c->tid, "schedstat", &text, &e) < 0
		? 0
		: strtoull(text.v, NULL, 10);
}

/* A thread that has a processor and does not stop is in an uninterruptible place. */
int
worker_await_starved(struct worker *c, struct err *e)
{
	const uint64_t last_ns = os_now_ns() + STARVED_NS;
	uint64_t had_ns = cpu_time_ns(c);
	int failed = worker_await(c, e);
	struct os_status s;
	struct err ignored;

	while (failed && c->stop == OS_STOP_TIMEOUT && os_now_ns() < last_ns &&
		os_status(c->callee->target, c->tid, &s, &ignored) == 0 && s.state == 'R' &&
		cpu_time_ns(c) - had_ns < STOP_WITHIN_NS / 8)
		failed = worker_await(c, e);
	return failed;
}

int
worker_stop_starved(struct worker *c, struct err *e)
{
	return os_interrupt(c->tid, e) < 0 ? -1 : worker_await_starved(c, e);
}

static bool
keeps_errno(const struct worker *c)
{
	for (size_t i = 0; i < c->nr_undo; i++)
		if (c->undo[i].fn.v == c->callee->fn.swab.v && c->undo[i].arg[1] == c->errno_at.v)
			return true;
	return false;
}

int
worker_keep_errno(struct worker *c, raddr at, struct err *e)
{
	const uint64_t arg[] = { at.v, c->errno_at.v, sizeof c->errno_was };
	char swapped[sizeof c->errno_was];

	if (c->is_helper || !c->errno_at.v || !c->callee->fn.swab.v || keeps_errno(c))
		return 0;
	swab(&c->errno_was, swapped, sizeof swapped);
	if (worker_write(c, at, swapped, sizeof swapped, e) < 0)
		return -1;
	return worker_undo(c, c->callee->fn.swab, arg, 3, e);
}

int
worker_turn_back(struct worker *c, struct err *e)
{
	struct arch_regs regs;

	if (arch_get_regs(c->tid, &regs, e) < 0)
		return -1;
	arch_prepare_return(&regs, c->callee->restorer, top_frame(c));
	return send_to(c, &regs, e);
}

/*
 * The call is read before the stop, by which the kernel may have forgotten it, and after it: in
 * between the thread may have been woken, and own the lock now.
 */
bool
worker_stop_waiting(struct worker *c)
{
	struct arch_regs regs;
	struct os_syscall s;
	struct err e;
	bool waited = os_thread_syscall(c->callee->target, c->tid, &s, &e) == 0 && !s.is_running &&
		s.nr == SYS_futex && safety_is_arena(c->callee, (raddr){ s.arg[0] });

	if (worker_stop(c, &e) < 0 || !waited || arch_get_regs(c->tid, &regs, &e) < 0)
		return false;
	return arch_is_still_in(&regs, s.nr, s.sp, s.pc) && arch_restart(&regs) == ARCH_RESTARTS;
}

int
worker_explain(const struct worker *c, enum worker_end end, const char *call, struct err *e)
{
	/*
	 * The kernel reports the end of a first thread only after those of the others have been
	 * collected.
	 */
	if (end == WORKER_TIMEOUT && !target_is_alive(c->callee->target))
		end = WORKER_GONE;
	switch (end) {
	case WORKER_GONE:
		return err_set_kind(e, ERR_GONE, 0,
			"%d (%s) ended or ran another program during %s", c->callee->target->pid,
			c->callee->target->comm, call);
	case WORKER_FAULT:
		err_set(e, 0, "%s was ended by signal %d (%s) in thread %d of %d (%s)", call,
			c->fault_sig, strsignal(c->fault_sig), c->tid, c->callee->target->pid,
			c->callee->target->comm);
		if (strncmp(call, "malloc_", 7) == 0 && c->fault_sig != SIGSYS)
			err_hint(e,
				"So its heap is damaged; "
				"the thread is turned back, but an arena may stay locked");
		return -1;
	case WORKER_TIMEOUT:
		return err_set(e, 0, "%s took too long in %d (%s)", call, c->callee->target->pid,
			c->callee->target->comm);
	case WORKER_RETURNED:
		break;
	}
	return err_set(e, 0, "%s failed in %d (%s)", call, c->callee->target->pid,
		c->callee->target->comm);
}
