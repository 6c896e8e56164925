/*
 * Calls in a stopped thread.  doc/inject.md draws the frames.
 */
#include <config.h>

#include "inject/inject-priv.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/debug.h"

#define STOP_WITHIN_NS 200000000
/* What mmap, the one call made on the thread's own stack, may need of it. */
#define CALL_BYTES 512

#define STARVED_NS UINT64_C(2000000000)

/*
 * What stays unblocked during a call.  Signals that a fault forces: if they were blocked the kernel
 * would reset their handlers for the whole process (kernel/signal.c, force_sig_info_to_task).
 * SIGABRT: abort() sets it to its default when it has to send it twice.  And SIGSETXID, by which
 * setuid() in one thread asks all others to take part: it holds the lock of the stack cache until
 * they have, which pthread_create() waits for (nptl/nptl_setxid.c).
 */
#define BIT(sig) (UINT64_C(1) << ((sig) - 1))
#define FAULTS                                                                                     \
	(BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGSYS) |     \
		BIT(SIGABRT))
#define UNBLOCKED (FAULTS | BIT(SIGSETXID))

/* ---- frames ---- */

static raddr
top_frame(const struct carrier *c)
{
	return c->undo[c->nr_undo - 1].frame;
}

static int
push_frame(struct carrier *c, const struct arch_frame *f, const struct undo *undo, struct err *e)
{
	if (os_write(c->it->target, f->addr, f->bytes, f->size_bytes, e) < 0)
		return -1;
	c->room = f->addr;
	c->undo[c->nr_undo] = *undo;
	c->undo[c->nr_undo++].frame = f->addr;
	return 0;
}

/* Whether what lies below SP down to FRAME, and some more for a small call, is the same stack. */
static bool
has_room(const struct carrier *c, raddr sp, raddr frame)
{
	const struct maps *m = c->it->maps;
	raddr low = { frame.v - CALL_BYTES };
	char below[CALL_BYTES];
	struct err e;

	/* A helper's stack is younger than the map. */
	return maps_find(m, low) == maps_find(m, sp) &&
		os_read(c->it->target, low, below, sizeof below, &e) == 0;
}

int
carrier_begin(struct carrier *c, struct err *e)
{
	struct arch_regs home = c->saved.regs;
	raddr sp = arch_sp(&home);
	struct arch_frame f;

	arch_settle(&home);
	c->room.v = sp.v - arch_red_zone_bytes;
	arch_build_frame(&f, c->room, &home, c->saved.sigmask, &c->saved, c->it->restorer);
	if (!has_room(c, sp, f.addr))
		return err_set(e, 0, "no room on the stack of thread %d", c->tid);
	return push_frame(c, &f, &(struct undo){ 0 }, e);
}

int
carrier_undo(struct carrier *c, raddr fn, const uint64_t *arg, size_t nr_args, struct err *e)
{
	struct arch_regs regs = c->saved.regs;
	struct undo undo = { .fn = fn, .nr_args = nr_args };
	struct arch_frame f;

	if (c->nr_undo == MAX_UNDO)
		return err_set(e, 0, "too much to undo in thread %d", c->tid);
	memcpy(undo.arg, arg, nr_args * sizeof *arg);
	arch_prepare_call(&regs, fn, arg, nr_args, c->it->restorer, top_frame(c));
	/* Signals come in only when it is home. */
	arch_build_frame(&f, c->room, &regs, ~UNBLOCKED, &c->saved, c->it->restorer);
	return push_frame(c, &f, &undo, e);
}

/* ---- running ---- */

bool
carrier_is_fault(const struct os_stop *stop)
{
	return stop->is_own && stop->sig < SIGSETXID && FAULTS & BIT(stop->sig);
}

void
carrier_note_phase(struct carrier *c, const struct os_stop *stop)
{
	c->is_in_syscall =
		stop->phase == OS_PHASE_UNKNOWN ? !c->is_in_syscall : stop->phase == OS_PHASE_ENTRY;
}

/* Whether the thread stands at the entry of rt_sigreturn into the topmost frame. */
static bool
has_returned(const struct carrier *c, const struct arch_regs *r)
{
	struct arch_regs at = *r;

	if (!arch_is_sigreturn(r, c->it->restorer))
		return false;
	arch_prepare_return(&at, c->it->restorer, top_frame(c));
	return arch_sp(&at).v == arch_sp(r).v;
}

/*
 * Take in one stop.  Returns 1 when the run is over with *RET, 0 to go on with *RET_SIG, -1 on
 * failure.
 */
static int
take_stop(struct carrier *c, const struct os_stop *stop, enum carrier_end *ret, int *ret_sig,
	struct err *e)
{
	struct arch_regs regs;

	c->stop = stop->kind;
	*ret_sig = 0;
	switch (stop->kind) {
	case OS_STOP_TIMEOUT:
		*ret = CARRIER_TIMEOUT;
		return 1;
	case OS_STOP_GONE:
		c->is_ours = false;
		/* fall through */
	case OS_STOP_EXEC:
		*ret = CARRIER_GONE;
		return 1;
	case OS_STOP_CLONE:
		c->new_tid = stop->new_tid;
		return 0;
	case OS_STOP_EVENT:
	case OS_STOP_GROUP:
		return 0;
	case OS_STOP_SIGNAL:
		*ret = CARRIER_FAULT;
		*ret_sig = c->fault_sig = stop->sig;
		return carrier_is_fault(stop);
	case OS_STOP_SYSCALL:
		break;
	}
	carrier_note_phase(c, stop);
	if (arch_get_regs(c->tid, &regs, e) < 0)
		return -1;
	if (!c->is_in_syscall) {
		c->result = arch_result(&regs);
		return 0;
	}
	*ret = CARRIER_RETURNED;
	return has_returned(c, &regs);
}

/*
 * Wait for the next stop.  Only a thread that waits for somebody else's lock is not given more time:
 * one that gets no processor, or waits for the kernel's locks, would not be any faster alone.
 */
static int
await_stop(struct carrier *c, uint64_t deadline_ns, struct os_stop *ret, struct err *e)
{
	const uint64_t last_ns = deadline_ns + STARVED_NS;
	struct os_syscall s;
	struct err ignored;

	for (;;) {
		if (os_wait(c->tid, deadline_ns, ret, e) < 0)
			return -1;
		if (ret->kind == OS_STOP_TIMEOUT && !target_is_alive(c->it->target))
			ret->kind = OS_STOP_GONE;
		if (ret->kind != OS_STOP_TIMEOUT || deadline_ns >= last_ns ||
			os_thread_syscall(c->it->target, c->tid, &s, &ignored) < 0 ||
			(!s.is_running && s.nr == SYS_futex))
			return 0;
		deadline_ns += STARVED_NS / 20;
	}
}

int
carrier_go_on(struct carrier *c, uint64_t deadline_ns, enum carrier_end *ret, struct err *e)
{
	struct os_stop stop;
	int over, sig = 0;

	do {
		if (os_resume(c->tid, OS_RESUME_TO_SYSCALL, sig, e) < 0 ||
			await_stop(c, deadline_ns, &stop, e) < 0)
			return -1;
		over = take_stop(c, &stop, ret, &sig, e);
	} while (!over);
	return over < 0 ? -1 : 0;
}

/*
 * Whether the rt_sigreturn that ends a call is skipped: made, it would forget how much of an interrupted
 * sleep is left.
 */
static bool
must_skip(const struct carrier *c)
{
	return !c->is_helper && arch_restart(&c->saved.regs) == ARCH_RESTARTS_FROM_BLOCK;
}

/*
 * From its entry to its exit; so the thread is where the topmost frame says.  Skipped, a seccomp filter
 * would be shown number -1, and may end the process for what it does not list (since 4.8 it is asked
 * after the stop: arch/x86/entry/common.c, syscall_trace_enter()).
 */
static int
leave_syscall(struct carrier *c, struct err *e)
{
	struct os_stop stop;

	if (os_resume(c->tid, OS_RESUME_TO_SYSCALL, 0, e) < 0 ||
		os_wait(c->tid, os_now_ns() + STARVED_NS, &stop, e) < 0)
		return -1;
	c->stop = stop.kind;
	c->is_in_syscall = false;
	if (stop.kind == OS_STOP_SYSCALL)
		return 0;
	c->is_ours = stop.kind != OS_STOP_GONE;
	return carrier_explain(c, stop.kind == OS_STOP_TIMEOUT ? CARRIER_TIMEOUT : CARRIER_GONE,
		"the end of a call", e);
}

/*
 * Registers first, then the mask: if we die in between, what they lead to runs with signals allowed and
 * returns home; the other way round the thread would stay deaf for ever.
 */
static int
send_to(struct carrier *c, const struct arch_regs *regs, struct err *e)
{
	bool leaves = c->is_in_syscall && !must_skip(c);

	if ((leaves && leave_syscall(c, e) < 0) || arch_set_regs(c->tid, regs, e) < 0)
		return -1;
	if (c->is_masked && !leaves)	/* a frame puts back its own */
		return 0;
	if (os_set_sigmask(c->tid, ~UNBLOCKED, e) < 0)
		return -1;
	c->is_masked = true;
	return 0;
}

static int
enter(struct carrier *c, raddr fn, const uint64_t *arg, size_t nr_args, struct err *e)
{
	struct arch_regs regs = c->saved.regs;

	arch_prepare_call(&regs, fn, arg, nr_args, c->it->restorer, top_frame(c));
	return send_to(c, &regs, e);
}

int
carrier_call(struct carrier *c, raddr fn, const uint64_t *arg, size_t nr_args, uint64_t deadline_ns,
	enum carrier_end *ret, struct err *e)
{
	if (enter(c, fn, arg, nr_args, e) < 0)
		return -1;
	return carrier_go_on(c, deadline_ns, ret, e);
}

int
carrier_syscall(struct carrier *c, raddr fn, const uint64_t *arg, size_t nr_args,
	uint64_t deadline_ns, const char *did, struct err *e)
{
	enum carrier_end end;

	if (carrier_call(c, fn, arg, nr_args, deadline_ns, &end, e) < 0)
		return -1;
	if (end != CARRIER_RETURNED)
		return carrier_explain(c, end, did, e);
	if (c->result < 0 && c->result > -4096)
		return err_set(e, (int)-c->result, "%s failed in %d (%s)", did, c->it->target->pid,
			c->it->target->comm);
	return 0;
}

int
carrier_unwind(struct carrier *c, size_t level, uint64_t deadline_ns, struct err *e)
{
	enum carrier_end end;

	while (c->nr_undo > level) {
		const struct undo *u = &c->undo[--c->nr_undo];

		if (carrier_call(c, u->fn, u->arg, u->nr_args, deadline_ns, &end, e) < 0)
			return -1;
		if (end != CARRIER_RETURNED)
			return carrier_explain(c, end, "putting things back", e);
	}
	return 0;
}

int
carrier_launch(struct carrier *c, raddr fn, const uint64_t *arg, size_t nr_args, struct err *e)
{
	if (enter(c, fn, arg, nr_args, e) < 0)
		return -1;
	c->is_in_syscall = false;	/* the next stop is none of a system call */
	return os_resume(c->tid, OS_RESUME_FREE, 0, e);
}

int
carrier_promise(struct carrier *c, raddr fn, const uint64_t *arg, size_t nr_args, struct err *e)
{
	return carrier_undo(c, fn, arg, nr_args, e) < 0 ? -1 : carrier_turn_back(c, e);
}

/* ---- leaving a call early ---- */

static int
await_interrupt(struct carrier *c, uint64_t deadline_ns, struct err *e)
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
		/* After such a stop no exit stop follows that could be taken for an entry. */
		c->is_in_syscall = false;
		if (stop.kind == OS_STOP_EVENT || stop.kind == OS_STOP_GROUP)
			return 0;
		/* Whatever the stop, the kernel forgets the interrupt by it (kernel/signal.c, ptrace_stop). */
		if (os_interrupt(c->tid, e) < 0 ||
			os_resume(c->tid, OS_RESUME_FREE,
				stop.kind == OS_STOP_SIGNAL ? stop.sig : 0, e) < 0)
			return -1;
	}
}

int
carrier_await(struct carrier *c, struct err *e)
{
	return await_interrupt(c, os_now_ns() + STOP_WITHIN_NS, e);
}

int
carrier_stop(struct carrier *c, struct err *e)
{
	return os_interrupt(c->tid, e) < 0 ? -1 : carrier_await(c, e);
}

int
carrier_stop_by(struct carrier *c, uint64_t deadline_ns, struct err *e)
{
	uint64_t soon_ns = os_now_ns() + STOP_WITHIN_NS;

	if (os_interrupt(c->tid, e) < 0)
		return -1;
	return await_interrupt(c, deadline_ns > soon_ns ? deadline_ns : soon_ns, e);
}

int
carrier_turn_back(struct carrier *c, struct err *e)
{
	struct arch_regs regs;

	if (arch_get_regs(c->tid, &regs, e) < 0)
		return -1;
	arch_prepare_return(&regs, c->it->restorer, top_frame(c));
	return send_to(c, &regs, e);
}

/*
 * Asked before the stop, which the kernel may have forgotten the call by, and after it: in between
 * the thread may have been woken, and own the lock now.
 */
bool
carrier_stop_waiting(struct carrier *c)
{
	struct arch_regs regs;
	struct os_syscall s;
	struct err e;
	bool waited = os_thread_syscall(c->it->target, c->tid, &s, &e) == 0 && !s.is_running &&
		s.nr == SYS_futex && safety_is_arena(c->it, (raddr){ s.arg[0] });

	if (carrier_stop(c, &e) < 0 || !waited || arch_get_regs(c->tid, &regs, &e) < 0)
		return false;
	return arch_is_still_in(&regs, s.nr, s.sp, s.pc) && arch_restart(&regs) == ARCH_RESTARTS;
}

int
carrier_explain(const struct carrier *c, enum carrier_end end, const char *call, struct err *e)
{
	/* The end of a first thread is not told before those of the others have been asked for. */
	if (end == CARRIER_TIMEOUT && !target_is_alive(c->it->target))
		end = CARRIER_GONE;
	switch (end) {
	case CARRIER_GONE:
		return err_set_kind(e, ERR_GONE, 0, "%d (%s) ended or ran another program during %s",
			c->it->target->pid, c->it->target->comm, call);
	case CARRIER_FAULT:
		err_set(e, 0, "%s was ended by signal %d (%s) in thread %d of %d (%s)", call,
			c->fault_sig, strsignal(c->fault_sig), c->tid, c->it->target->pid,
			c->it->target->comm);
		if (strncmp(call, "malloc_", 7) == 0 && c->fault_sig != SIGSYS)
			err_hint(e, "So its heap is damaged; the thread is turned back, but an arena "
				"may stay locked");
		return -1;
	case CARRIER_TIMEOUT:
		return err_set(e, 0, "%s took too long in %d (%s)", call, c->it->target->pid,
			c->it->target->comm);
	case CARRIER_RETURNED:
		break;
	}
	return err_set(e, 0, "%s failed in %d (%s)", call, c->it->target->pid, c->it->target->comm);
}
