/*
 * Our memory in the target, and a helper thread that works there, so that the borrowed thread is
 * back after a fraction of a millisecond.
 */
#include <config.h>

#include "inject/helper.h"

#include "inject/borrow.h"
#include "inject/helper-priv.h"
#include "inject/inject-priv.h"
#include "os/clock.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/proc.h"
#include "os/ptrace.h"
#include "stop/registers.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define WS_STACK_BYTES UINT64_C(131072)
#define WS_DATA_BYTES UINT64_C(4096)
#define DISMISS_WITHIN_NS 50000000
#define START_WITHIN_NS UINT64_C(5000000000)

/*
 * Size of a helper's own stack: struct pthread, the program's thread-local words, the way into and
 * out of start_thread() and a signal frame.  Its calls for us use the workspace's stack.  libc
 * keeps the stack when the thread ends, and under mlockall(MCL_FUTURE) all of it is resident: so it
 * is small.
 */
#define HELPER_STACK_BYTES (2 * (uint64_t)PTHREAD_STACK_MIN)

/* Fail if hooks were set since the last check. */
static int
check_hooks(const struct inject_target *callee, struct err *e)
{
	uint64_t now;

	if (os_read(callee->target, callee->mmap_entry, &now, sizeof now, e) < 0)
		return -1;
	return now == callee->mmap_code
		? 0
		: err_set_kind(e, ERR_NO_SAFE_POINT, 0,
			  "another tool has just hooked functions of %d (%s), or lifted hooks; "
			  "nothing was changed",
			  callee->target->pid, callee->target->comm);
}

/*
 * Report that the workspace cannot be mapped.  Trying again is useless, but nothing was changed, so
 * another method may work.
 */
static int
helper_refuse_room(const struct worker *c, uint64_t size_bytes, struct err *e)
{
	const struct target *t = c->callee->target;
	const int code = (int)-c->result;

	err_set_kind(e, ERR_NO_SAFE_POINT, 0,
		"%d (%s) cannot map %llu bytes for the call: %s; nothing was changed", t->pid,
		t->comm, (unsigned long long)size_bytes, strerror(code));
	if (code == ENOMEM)
		err_hint(e, "RLIMIT_AS, RLIMIT_DATA or vm.max_map_count forbids it");
	if (code == EAGAIN)
		err_hint(e, "RLIMIT_MEMLOCK forbids it");
	return -1;
}

static int
helper_enter(struct worker *c, const struct workspace *ws, struct err *e)
{
	return worker_enter_workspace(
		c, ws->start, ws->stack_top, raddr_add(ws->start, ws->size_bytes), e);
}

int
workspace_map(struct worker *c, struct workspace *ws, uint64_t buffer_bytes, uint64_t deadline_ns,
	struct err *e)
{
	const uint64_t size = WS_STACK_BYTES + WS_DATA_BYTES + buffer_bytes;
	const uint64_t arg[] = { 0, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, (uint64_t)-1, 0 };
	enum worker_end end;

	if (check_hooks(c->callee, e) < 0 ||
		worker_call(c, c->callee->fn.mmap, arg, 6, deadline_ns, &end, e) < 0)
		return -1;
	if (end != WORKER_RETURNED)
		return worker_explain(c, end, "mmap", e);
	if (c->result < 0 && c->result > -4096)
		return helper_refuse_room(c, size, e);
	ws->start = (raddr){ (uint64_t)c->result };
	ws->size_bytes = size;
	ws->stack_top = raddr_add(ws->start, WS_STACK_BYTES);
	ws->data = ws->stack_top;
	ws->buffer = raddr_add(ws->data, WS_DATA_BYTES);
	ws->buffer_bytes = buffer_bytes;
	/*
	 * From here on, the thread's own stack gets nothing more than a signal would leave there.
	 */
	return helper_enter(c, ws, e);
}

/* struct pthread_attr (nptl/internaltypes.h), unchanged since 2.1; later fields are 0. */
struct attr_image {
	int32_t sched_priority, sched_policy;
	int32_t flags;
	uint64_t guard_bytes;
	uint64_t stack_addr, stack_bytes; /* 0: the program's default */
	uint64_t later[2];
};

#define ATTR_FLAG_DETACHSTATE 1
#define NO_CALL_YET INT64_MIN /* in place of a system call's result */

/*
 * Return whether thread H, which is stopped at a system call's exit, is in the start routine that
 * make_thread() gives it if libc has sigblock(): the only code there that calls
 * rt_sigprocmask(SIG_BLOCK).  start_thread() itself uses SIG_SETMASK.
 */
static bool
is_in_start_routine(const struct worker *h)
{
	struct os_syscall s;
	struct err e;

	return os_thread_syscall(h->callee->target, h->tid, &s, &e) == 0 && !s.is_running &&
		s.nr == SYS_rt_sigprocmask && s.arg[0] == SIG_BLOCK;
}

/*
 * Run the new thread H, which stops by itself before its first instruction, to where it can make
 * calls for us.  There, other threads must be able to call setuid(), which waits for every thread
 * that glibc has made and not released yet, with the lock of the thread stacks held
 * (nptl/nptl_setxid.c, setxid_mark_thread).  Since 2.32 glibc releases a thread right before its
 * start routine (nptl/pthread_create.c, start_thread), so that routine must make a system call;
 * before 2.32 it does so before its own first system call.
 */
static int
bring_to_start(struct worker *h, uint64_t deadline_ns, struct err *e)
{
	struct os_stop stop;

	if (os_wait(h->tid, deadline_ns, &stop, e) < 0)
		return -1;
	for (;;) {
		h->stop = stop.kind;
		h->is_ours = stop.kind != OS_STOP_GONE;
		if (stop.kind == OS_STOP_GONE || stop.kind == OS_STOP_EXEC)
			return worker_explain(h, WORKER_GONE, "pthread_create", e);
		if (stop.kind == OS_STOP_TIMEOUT)
			return worker_explain(h, WORKER_TIMEOUT, "starting a thread", e);
		if (stop.kind == OS_STOP_SYSCALL) {
			worker_note_phase(h, &stop);
			if (!h->is_in_syscall &&
				(!h->callee->fn.sigblock.v || is_in_start_routine(h)))
				return 0;
		}
		if (os_resume(h->tid, OS_RESUME_TO_SYSCALL,
			    stop.kind == OS_STOP_SIGNAL ? stop.sig : 0, e) < 0 ||
			os_wait(h->tid, deadline_ns, &stop, e) < 0)
			return -1;
	}
}

/*
 * Make the new thread a worker.  It inherited the mask of C; only the signal that setuid() in
 * another thread needs is let in.  Its own stack may be the smallest that libc makes: it gets
 * nothing more than a signal would leave there.
 */
static int
adopt(struct worker *h, const struct workspace *ws, uint64_t deadline_ns, struct err *e)
{
	if (bring_to_start(h, deadline_ns, e) < 0 || arch_save(h->tid, &h->saved, e) < 0)
		return -1;
	/* It should hold the locks of arenas as briefly as possible; and it ends soon. */
	os_hurry(h->tid);
	h->saved.sigmask &= ~(UINT64_C(1) << (SIGSETXID - 1));
	if (registers_set_mask(h->tid, &h->saved, h->saved.sigmask, e) < 0)
		return -1;
	h->is_masked = true;
	return worker_begin(h, e) < 0 ? -1 : helper_enter(h, ws, e);
}

/*
 * Have C make a detached thread with a stack of STACK_BYTES (0: as large as the program's others).
 * Returns 0 with C->new_tid, 1 if libc refused, or -1 with E.
 */
static int
make_thread(struct worker *c, const struct workspace *ws, uint64_t stack_bytes,
	uint64_t deadline_ns, struct err *e)
{
	const struct attr_image attr = {
		.flags = ATTR_FLAG_DETACHSTATE, .guard_bytes = 4096, .stack_bytes = stack_bytes
	};
	const raddr slot = raddr_add(ws->data, sizeof attr);
	const raddr start = c->callee->fn.sigblock.v ? c->callee->fn.sigblock : c->callee->fn.labs;
	const uint64_t arg[] = { slot.v, ws->data.v, start.v, 0 };
	enum worker_end end;

	if (worker_write(c, ws->data, &attr, sizeof attr, e) < 0)
		return -1;
	c->new_tid = 0;
	c->result = NO_CALL_YET;
	if (worker_call(c, c->callee->fn.pthread_create, arg, 4, deadline_ns, &end, e) < 0)
		return -1;
	if (end == WORKER_RETURNED)
		return !c->new_tid;
	if (c->new_tid)
		os_detach_later(c->new_tid);
	return worker_explain(c, end, "pthread_create", e);
}

int
helper_make(struct worker *c, const struct workspace *ws, struct worker *h,
	uint64_t borrow_deadline_ns, struct err *e)
{
	int status;

	if (os_trace_births(c->tid, true, e) < 0)
		return -1;
	status = make_thread(c, ws, HELPER_STACK_BYTES, borrow_deadline_ns, e);
	/*
	 * The program's thread-local words alone are larger: glibc reports that before its first
	 * system call (nptl/allocatestack.c, EINVAL).  After a later failure a larger stack is
	 * useless, and glibc would keep it.
	 */
	if (status > 0 && c->result == NO_CALL_YET)
		status = make_thread(c, ws, 0, borrow_deadline_ns, e);
	if (status)
		return status;
	*h = (struct worker){ .callee = c->callee,
		.tid = c->new_tid,
		.is_helper = true,
		.is_ours = true,
		.stop = OS_STOP_TIMEOUT };
	/*
	 * Until H is adopted, nothing would unmap the workspace: so the user's deadline does not
	 * apply.
	 */
	if (borrow_return(c, e) < 0 || adopt(h, ws, os_now_ns() + START_WITHIN_NS, e) < 0)
		return -1;
	/*
	 * H may have no robust list yet by which to find the slot; but static TLS has the same
	 * offsets in all threads.
	 */
	if (c->arena_slot.v)
		h->arena_slot.v = c->arena_slot.v - arch_thread_pointer(&c->saved.regs).v +
			arch_thread_pointer(&h->saved.regs).v;
	return 0;
}

void
helper_dismiss(struct worker *h)
{
	uint64_t deadline = os_now_ns() + DISMISS_WITHIN_NS;
	struct os_syscall s;
	struct err e;

	if (!h->is_ours)
		return;
	borrow_abandon(h);
	while (os_now_ns() < deadline && os_thread_syscall(h->callee->target, h->tid, &s, &e) == 0)
		os_attend(50000);
}
