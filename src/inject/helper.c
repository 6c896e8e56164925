/*
 * Memory of our own in the target, and a thread of its own making that works there, so that the
 * borrowed thread is back after a fraction of a millisecond.
 */
#include <config.h>

#include "inject/inject-priv.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "base/debug.h"

#define WS_STACK_BYTES UINT64_C(131072)
#define WS_DATA_BYTES UINT64_C(4096)
#define DISMISS_WITHIN_NS 50000000

/* What goes past hooks goes past none that were set since. */
static int
check_hooks(const struct inject_target *it, struct err *e)
{
	uint64_t now;

	if (os_read(it->target, it->mmap_entry, &now, sizeof now, e) < 0)
		return -1;
	return now == it->mmap_code ? 0
				    : err_set_kind(e, ERR_NO_SAFE_POINT, 0,
					      "somebody has hooked functions of %d (%s) just now, or lifted "
					      "hooks; nothing was changed", it->target->pid, it->target->comm);
}

int
workspace_map(struct carrier *c, struct workspace *ws, uint64_t buffer_bytes, uint64_t deadline_ns,
	struct err *e)
{
	const uint64_t size = WS_STACK_BYTES + WS_DATA_BYTES + buffer_bytes;
	const uint64_t arg[] = { 0, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, (uint64_t)-1, 0 };
	enum carrier_end end;

	if (check_hooks(c->it, e) < 0 || carrier_call(c, c->it->fn.mmap, arg, 6, deadline_ns, &end, e) < 0)
		return -1;
	if (end != CARRIER_RETURNED)
		return carrier_explain(c, end, "mmap", e);
	if (c->result < 0 && c->result > -4096)
		return err_set(e, (int)-c->result, "%d (%s) cannot map %llu bytes for the call",
			c->it->target->pid, c->it->target->comm, (unsigned long long)size);
	ws->start = (raddr){ (uint64_t)c->result };
	ws->size_bytes = size;
	ws->stack_top = raddr_add(ws->start, WS_STACK_BYTES);
	ws->data = ws->stack_top;
	ws->buffer = raddr_add(ws->data, WS_DATA_BYTES);
	ws->buffer_bytes = buffer_bytes;
	/* From here on its own stack gets nothing more than a signal would leave there. */
	c->room = ws->stack_top;
	return carrier_undo(c, c->it->fn.munmap, (uint64_t[]){ ws->start.v, size }, 2, e);
}

/* struct pthread_attr (nptl/internaltypes.h); the same since 2.1, later fields are 0. */
struct attr_image {
	int32_t sched_priority, sched_policy;
	int32_t flags;
	uint64_t guard_bytes;
	uint64_t stack_addr, stack_bytes;	/* 0: the program's default */
	uint64_t later[2];
};

#define ATTR_FLAG_DETACHSTATE 1

/*
 * The new thread stops by itself before its first instruction.  Its first system call is start_thread's
 * own (set_robust_list or rseq; nptl/pthread_create.c), made when the thread is all set up and before
 * its start routine: there it can call for us, and no system call is made that a seccomp filter of the
 * program does not know.
 */
static int
bring_to_start(struct carrier *h, uint64_t deadline_ns, struct err *e)
{
	struct os_stop stop;

	if (os_wait(h->tid, deadline_ns, &stop, e) < 0)
		return -1;
	for (;;) {
		h->stop = stop.kind;
		h->is_ours = stop.kind != OS_STOP_GONE;
		if (stop.kind == OS_STOP_GONE || stop.kind == OS_STOP_EXEC)
			return carrier_explain(h, CARRIER_GONE, "pthread_create", e);
		if (stop.kind == OS_STOP_TIMEOUT)
			return carrier_explain(h, CARRIER_TIMEOUT, "starting a thread", e);
		if (stop.kind == OS_STOP_SYSCALL) {
			carrier_note_phase(h, &stop);
			if (!h->is_in_syscall)
				return 0;
		}
		if (os_resume(h->tid, OS_RESUME_TO_SYSCALL,
			    stop.kind == OS_STOP_SIGNAL ? stop.sig : 0, e) < 0 ||
			os_wait(h->tid, deadline_ns, &stop, e) < 0)
			return -1;
	}
}

/* It was born with the mask of C; only the signal that setuid() in another thread needs gets in. */
static int
adopt(struct carrier *h, const struct workspace *ws, uint64_t deadline_ns, struct err *e)
{
	if (bring_to_start(h, deadline_ns, e) < 0 || arch_save(h->tid, &h->saved, e) < 0)
		return -1;
	h->saved.sigmask &= ~(UINT64_C(1) << (SIGSETXID - 1));
	if (os_set_sigmask(h->tid, h->saved.sigmask, e) < 0)
		return -1;
	h->is_masked = true;
	if (carrier_begin(h, e) < 0)
		return -1;
	return carrier_undo(
		h, h->it->fn.munmap, (uint64_t[]){ ws->start.v, ws->size_bytes }, 2, e);
}

int
helper_make(struct carrier *c, const struct workspace *ws, struct carrier *h,
	uint64_t borrow_deadline_ns, uint64_t start_deadline_ns, struct err *e)
{
	const struct attr_image attr = { .flags = ATTR_FLAG_DETACHSTATE, .guard_bytes = 4096 };
	const raddr slot = raddr_add(ws->data, sizeof attr);
	const uint64_t arg[] = { slot.v, ws->data.v, c->it->fn.labs.v, 0 };
	enum carrier_end end;

	if (os_write(c->it->target, ws->data, &attr, sizeof attr, e) < 0)
		return -1;
	c->new_tid = 0;
	if (os_trace_births(c->tid, true, e) < 0 ||
		carrier_call(c, c->it->fn.pthread_create, arg, 4, borrow_deadline_ns, &end, e) < 0)
		return -1;
	if (end != CARRIER_RETURNED) {
		if (c->new_tid)
			os_detach_later(c->new_tid);
		return carrier_explain(c, end, "pthread_create", e);
	}
	if (!c->new_tid)
		return 1;	/* EAGAIN: a limit on threads */
	*h = (struct carrier){ .it = c->it, .tid = c->new_tid, .is_helper = true,
		.is_ours = true, .stop = OS_STOP_TIMEOUT };
	if (borrow_return(c, e) < 0 || adopt(h, ws, start_deadline_ns, e) < 0)
		return -1;
	/* It may have no robust list yet to find it by; but static TLS is the same in all threads. */
	if (c->arena_slot.v)
		h->arena_slot.v = c->arena_slot.v - arch_thread_pointer(&c->saved.regs).v +
			arch_thread_pointer(&h->saved.regs).v;
	return 0;
}

void
helper_dismiss(struct carrier *h)
{
	uint64_t deadline = os_now_ns() + DISMISS_WITHIN_NS;
	struct os_syscall s;
	struct err e;

	if (!h->is_ours)
		return;
	borrow_abandon(h);
	while (os_now_ns() < deadline && os_thread_syscall(h->it->target, h->tid, &s, &e) == 0)
		os_sleep_ns(50000);
}
