/*
 * Calls that take long: malloc_info and malloc_trim hold the locks of arenas, so the thread that
 * makes them (the worker) must not be stopped at each system call.  Then the end of the call must
 * be noticed in another way.  A helper with an empty undo list simply ends, and a borrowed thread
 * returns to its own system call and waits there.  Otherwise a short sleep is put on the way back,
 * and the worker is stopped in it.
 */
#include <config.h>

#include "inject/inject-priv.h"

#include <sys/syscall.h>
#include <time.h>

#include "os/clock.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/ptrace.h"
#include "os/threads.h"

/* How soon the sleep is noticed, at first and at last. */
#define FIRST_PAUSE_NS 20000
#define LAST_PAUSE_NS 1000000
#define STOP_WITHIN_NS 200000000
/*
 * The number of times that the workspace is seen unmapped before the worker must have left the
 * frame.
 */
#define LOOKS_PAST 20
/* How soon a wish to end is noticed. */
#define LOOK_UP_NS 100000000

/*
 * The length of the sleep if no memdiag comes: a helper delays no thread, and a memdiag without a
 * processor is late.  A borrowed thread has work to do.
 */
#define HELPER_SLEEP_S 2
#define BORROWED_SLEEP_NS 500000000

enum way {
	WAY_TRACED, /* with a stop at each system call */
	WAY_TO_SLEEP,
	WAY_TO_END,
	WAY_HOME, /* down the undo list, where memdiag stops it */
};

/*
 * A seccomp filter may not know the sleep, and a static program may not have it.  So malloc_info
 * and dlopen are traced then: they make few system calls. malloc_trim makes one for each free
 * chunk.
 */
static enum way
way_of(const struct long_call *call, const struct worker *c)
{
	struct os_status s;
	struct err e;

	if (call->is_last)
		return c->is_helper ? WAY_TO_END : WAY_HOME;
	if (!c->it->fn.ppoll.v || os_status(c->it->target, c->tid, &s, &e) < 0 || s.seccomp)
		return WAY_TRACED;
	return WAY_TO_SLEEP;
}

static int
lay_sleep(struct worker *c, const struct workspace *ws, struct err *e)
{
	const struct timespec sleep_time = { .tv_sec = c->is_helper ? HELPER_SLEEP_S : 0,
		.tv_nsec = c->is_helper ? 0 : BORROWED_SLEEP_NS };

	if (os_write(c->it->target, ws->data, &sleep_time, sizeof sleep_time, e) < 0)
		return -1;
	return worker_undo(c, c->it->fn.ppoll, (uint64_t[]){ 0, 0, ws->data.v, 0 }, 4, e);
}

/* Whether C is in the sleep that returns into FRAME. */
static bool
sleeps_below(const struct worker *c, raddr frame)
{
	struct os_syscall s;
	struct err e;

	return os_thread_syscall(c->it->target, c->tid, &s, &e) == 0 && !s.is_running &&
		s.nr == SYS_ppoll && s.sp.v > c->room.v && s.sp.v <= frame.v;
}

static bool
is_asleep(const struct worker *c)
{
	return sleeps_below(c, c->undo[c->nr_undo - 2].frame);
}

/*
 * Take in one stop of a worker that runs freely.  Returns 1 when the call is over with *RET, 0
 * when the worker runs on, -1 on failure.
 */
static int
take_stop(struct worker *c, const struct os_stop *stop, enum worker_end *ret, struct err *e)
{
	c->stop = stop->kind;
	switch (stop->kind) {
	case OS_STOP_GONE:
		c->is_ours = false;
		/* fall through */
	case OS_STOP_EXEC:
		*ret = WORKER_GONE;
		return 1;
	case OS_STOP_TIMEOUT:
		return 0;
	case OS_STOP_SIGNAL:
		*ret = WORKER_FAULT;
		c->fault_sig = stop->sig;
		if (worker_is_fault(stop))
			return 1;
		return os_resume(c->tid, OS_RESUME_FREE, stop->sig, e);
	case OS_STOP_EVENT:
	case OS_STOP_GROUP:
	case OS_STOP_SYSCALL:
	case OS_STOP_CLONE:
		break;
	}
	return os_resume(c->tid, OS_RESUME_FREE, 0, e);
}

/*
 * A signal that is let in, by which setuid() in another thread waits for this one, would end the
 * sleep.  So C, which stands in the sleep with SIG about to be delivered, takes it and then sleeps
 * anew.
 */
static int
sleep_again(struct worker *c, const struct workspace *ws, int sig, struct err *e)
{
	const uint64_t arg[] = { 0, 0, ws->data.v, 0 };
	const raddr frame = c->undo[c->nr_undo - 2].frame;
	struct arch_regs regs;

	if (worker_prepare(c, c->it->fn.ppoll, arg, 4, frame, &regs, e) < 0 ||
		arch_set_regs(c->tid, &regs, e) < 0)
		return -1;
	return os_resume(c->tid, OS_RESUME_FREE, sig, e);
}

/*
 * Take in one stop of a worker that is to be stopped in its sleep.  Stopped on the way there, or
 * in a signal's handler, it must run on.  Returns as take_stop().
 */
static int
take_sleeping(struct worker *c, const struct workspace *ws, const struct os_stop *stop,
	enum worker_end *ret, struct err *e)
{
	if (stop->kind == OS_STOP_SIGNAL && !worker_is_fault(stop) && is_asleep(c)) {
		c->stop = stop->kind;
		return sleep_again(c, ws, stop->sig, e);
	}
	if (stop->kind == OS_STOP_EVENT && is_asleep(c)) {
		c->stop = stop->kind;
		c->is_in_syscall = false;
		*ret = WORKER_RETURNED;
		return 1;
	}
	return take_stop(c, stop, ret, e);
}

static uint64_t
later_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Wait until the worker sleeps, and stop it there; or until it ends or does not come back. */
static int
await_sleep(struct worker *c, const struct workspace *ws, uint64_t deadline_ns,
	enum worker_end *ret, struct err *e)
{
	uint64_t pause_ns = FIRST_PAUSE_NS;
	bool is_over = false;

	do {
		struct os_stop stop;
		int over;

		if (os_wait(c->tid, os_now_ns() + pause_ns, &stop, e) < 0)
			return -1;
		over = take_sleeping(c, ws, &stop, ret, e);
		if (over)
			return over < 0 ? -1 : 0;
		if (stop.kind == OS_STOP_TIMEOUT && is_asleep(c)) {
			/*
			 * The call is over; with busy threads around, it may only lack a processor
			 * to stop.
			 */
			if (!is_over)
				deadline_ns = later_of(deadline_ns, os_now_ns() + STOP_WITHIN_NS);
			is_over = true;
			if (os_interrupt(c->tid, e) < 0)
				return -1;
		}
		if (pause_ns < LAST_PAUSE_NS)
			pause_ns += pause_ns / 2;
	} while (os_now_ns() < deadline_ns && !os_is_asked_to_end());
	c->stop = OS_STOP_TIMEOUT;
	*ret = WORKER_TIMEOUT;
	return 0;
}

static int
call_to_sleep(const struct long_call *call, struct worker *c, const struct workspace *ws,
	enum worker_end *ret, struct err *e)
{
	if (lay_sleep(c, ws, e) < 0 ||
		worker_launch_with(c, call->fn, call->arg, call->nr_args, call->next, call->nr_next,
			call->next_room, e) < 0 ||
		await_sleep(c, ws, call->deadline_ns, ret, e) < 0)
		return -1;
	c->nr_undo--; /* slept or not, the way back skips it now */
	return *ret == WORKER_RETURNED ? worker_turn_back(c, e) : 0;
}

/*
 * Whether C waits in its own call again.  A thread without such a call, or with a call that is
 * over, has unmapped the workspace; it counts as back a while after that, as the last frame
 * follows.
 */
static bool
is_home(const struct worker *c, const struct workspace *ws, int *nr_unmapped)
{
	struct os_syscall s;
	struct err e;
	char byte;

	if (os_thread_syscall(c->it->target, c->tid, &s, &e) == 0 && !s.is_running &&
		s.sp.v == arch_sp(&c->saved.regs).v)
		return true;
	return os_read(c->it->target, ws->data, &byte, sizeof byte, &e) < 0 &&
		++*nr_unmapped > LOOKS_PAST;
}

/* Wait until C is back in the program; or until it ends or does not come back. */
static int
await_home(struct worker *c, const struct workspace *ws, uint64_t deadline_ns, enum worker_end *ret,
	struct err *e)
{
	uint64_t pause_ns = FIRST_PAUSE_NS;
	int nr_unmapped = 0;

	do {
		struct os_stop stop;
		int over;

		if (os_wait(c->tid, os_now_ns() + pause_ns, &stop, e) < 0)
			return -1;
		over = take_stop(c, &stop, ret, e);
		if (over)
			return over < 0 ? -1 : 0;
		if (stop.kind == OS_STOP_TIMEOUT && is_home(c, ws, &nr_unmapped)) {
			*ret = WORKER_RETURNED;
			return worker_stop_starved(c, e);
		}
		if (pause_ns < LAST_PAUSE_NS)
			pause_ns += pause_ns / 2;
	} while (os_now_ns() < deadline_ns && !os_is_asked_to_end());
	c->stop = OS_STOP_TIMEOUT;
	*ret = WORKER_TIMEOUT;
	return 0;
}

static int
call_to_home(const struct long_call *call, struct worker *c, const struct workspace *ws,
	enum worker_end *ret, struct err *e)
{
	if (worker_keep_errno(c, ws->data, e) < 0 ||
		worker_launch(c, call->fn, call->arg, call->nr_args, e) < 0 ||
		await_home(c, ws, call->deadline_ns, ret, e) < 0)
		return -1;
	return *ret == WORKER_RETURNED ? borrow_meet(c, e) : 0;
}

/* The undo list is the last the helper runs, and it does so by itself. */
static int
call_to_end(const struct long_call *call, struct worker *c, enum worker_end *ret, struct err *e)
{
	struct os_stop stop;
	int over = 0;

	if (worker_launch(c, call->fn, call->arg, call->nr_args, e) < 0)
		return -1;
	*ret = WORKER_TIMEOUT;
	while (!over && os_now_ns() < call->deadline_ns && !os_is_asked_to_end()) {
		if (os_wait(c->tid, os_now_ns() + LOOK_UP_NS, &stop, e) < 0)
			return -1;
		over = take_stop(c, &stop, ret, e);
	}
	if (over && stop.kind == OS_STOP_GONE && !stop.sig && target_is_alive(c->it->target))
		*ret = WORKER_RETURNED;
	return over < 0 ? -1 : 0;
}

/*
 * No memdiag will stop C in its sleep: skip the sleep, or end it.  C's memory is its own as long as
 * its stack pointer is there.
 */
static void
forgo_sleep(struct worker *c, const struct workspace *ws)
{
	const struct timespec no_time = { 0 };
	struct arch_regs regs;
	struct err e;

	if (c->stop == OS_STOP_TIMEOUT && worker_stop(c, &e) < 0)
		return;
	if (!c->is_ours)
		return;
	if (sleeps_below(c, c->undo[c->nr_undo - 1].frame))
		worker_turn_back(c, &e);
	else if (arch_get_regs(c->tid, &regs, &e) == 0 &&
		raddr_in(arch_sp(&regs), ws->start, raddr_add(ws->start, ws->size_bytes)))
		os_write(c->it->target, ws->data, &no_time, sizeof no_time, &e);
}

/*
 * It does not come back.  If it only waits for an arena's lock it holds nothing, for malloc_info
 * writes between the locks: then it is turned back.  Else it must be left to end by itself.
 */
static int
give_up(const struct long_call *call, struct worker *c, const struct workspace *ws, struct err *e)
{
	struct err ignored;

	if (!call->holds_more && worker_stop_waiting(c) && worker_turn_back(c, &ignored) == 0)
		return err_hint(e, "It waited for an arena's lock and was turned back%s",
			call->fn.v == c->it->fn.malloc_trim.v
				? "; arenas before that one may have been "
				  "trimmed"
				: "; nothing was changed");
	if (!call->is_last)
		forgo_sleep(c, ws);
	borrow_abandon(c);
	return err_hint(e, "It was left to end by itself");
}

/* With a stop at each system call, and between two calls. */
static int
call_traced(const struct long_call *call, struct worker *c, enum worker_end *ret, struct err *e)
{
	int failed = worker_call(c, call->fn, call->arg, call->nr_args, call->deadline_ns, ret, e);

	for (size_t i = 0; i < call->nr_next && !failed && *ret == WORKER_RETURNED; i++)
		failed = worker_call(c, call->next[i].fn, call->next[i].arg, call->next[i].nr_args,
			call->deadline_ns, ret, e);
	return failed;
}

int
long_call_make(const struct long_call *call, struct worker *c, const struct workspace *ws,
	uint64_t *ret_ns, struct err *e)
{
	uint64_t started = os_now_ns();
	enum worker_end end = WORKER_TIMEOUT;
	int failed = -1;

	switch (way_of(call, c)) {
	case WAY_TRACED:
		failed = call_traced(call, c, &end, e);
		break;
	case WAY_TO_SLEEP:
		failed = call_to_sleep(call, c, ws, &end, e);
		break;
	case WAY_TO_END:
		failed = call_to_end(call, c, &end, e);
		break;
	case WAY_HOME:
		failed = call_to_home(call, c, ws, &end, e);
		break;
	}
	if (failed)
		return -1;
	*ret_ns = os_now_ns() - started;
	if (end == WORKER_RETURNED)
		return 0;
	worker_explain(c, end, call->name, e);
	return end == WORKER_TIMEOUT ? give_up(call, c, ws, e) : -1;
}
