/*
 * Calls that take long: malloc_info and malloc_trim hold the locks of arenas, so the thread that
 * makes them (the worker) must not be stopped at each system call.  The end of the call is noticed
 * in another way.  A helper that has nothing more to do simply ends.  Otherwise a short sleep is
 * put on the way back, and the worker is stopped in it: so a borrowed thread returns to the program
 * only from there, and while memdiag is present.
 */
#include <config.h>

#include "inject/call.h"

#include "inject/borrow.h"
#include "inject/sleep.h"
#include "os/clock.h"
#include "os/ptrace.h"
#include "os/target.h"

/* Interval between checks for the sleep: the first, and the longest. */
#define FIRST_PAUSE_NS 20000
#define LAST_PAUSE_NS 250000
#define STOP_WITHIN_NS 200000000
/* Interval between checks whether memdiag is asked to end. */
#define LOOK_UP_NS 100000000

/* Offset in the page at ws->data, after the length of the sleep. */
#define ERRNO_OFFSET SLEEP_BYTES

enum way {
	WAY_TRACED, /* with a stop at each system call */
	WAY_TO_SLEEP,
	WAY_TO_END,
};

/*
 * Choose how the end of the call is noticed.  If no sleep is available the call is traced:
 * malloc_trim, which makes a system call for each free chunk, then takes long.
 */
static enum way
way_of(const struct long_call *call, const struct worker *c, raddr at, struct sleep *ret)
{
	if (call->is_last && c->is_helper)
		return WAY_TO_END;
	return sleep_choose(ret, c, at) ? WAY_TO_SLEEP : WAY_TRACED;
}

/*
 * Handle one stop of a worker that runs freely.  Returns 1 with *RET when the call is over, 0 when
 * the worker continues, -1 on failure.
 */
static int
call_take_stop(struct worker *c, const struct os_stop *stop, enum worker_end *ret, struct err *e)
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
		if (worker_is_fault(c, stop))
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
 * Handle one stop of a worker that is to be stopped in its sleep.  If it is stopped on the way
 * there, or in a signal handler, it must continue.  If it has left the sleep and the workspace, our
 * interrupt may have stopped it in a call of the program.  Returns as call_take_stop().
 */
static int
take_sleeping(struct worker *c, const struct sleep *sleep, const struct os_stop *stop,
	enum worker_end *ret, struct err *e)
{
	if (stop->kind == OS_STOP_SIGNAL && !worker_is_fault(c, stop) &&
		sleep_is_under_way(sleep, c)) {
		c->stop = stop->kind;
		return sleep_again(sleep, c, stop->sig, e);
	}
	if (stop->kind == OS_STOP_EVENT &&
		(sleep_is_under_way(sleep, c) || !worker_has_workspace(c))) {
		c->stop = stop->kind;
		c->is_in_syscall = false;
		*ret = WORKER_RETURNED;
		return 1;
	}
	return call_take_stop(c, stop, ret, e);
}

static uint64_t
later_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * Wait until the worker sleeps and stop it there; or until it ends or does not return.  A worker
 * that has overslept, because memdiag got no processor, has unmapped the workspace on its way back:
 * it has returned, and runs.
 */
static int
await_sleep(struct worker *c, const struct sleep *sleep, uint64_t deadline_ns, enum worker_end *ret,
	struct err *e)
{
	uint64_t pause_ns = FIRST_PAUSE_NS;
	bool is_asked = false;

	do {
		struct os_stop stop;
		int over;

		if (os_wait(c->tid, os_now_ns() + pause_ns, &stop, e) < 0)
			return -1;
		over = take_sleeping(c, sleep, &stop, ret, e);
		if (over)
			return over < 0 ? -1 : 0;
		/*
		 * A worker that was interrupted must not be left before it stops: take_sleeping().
		 */
		if (!is_asked && !worker_has_workspace(c))
			break;
		if (stop.kind == OS_STOP_TIMEOUT && sleep_is_under_way(sleep, c)) {
			/*
			 * The call is over; with busy threads around, it may only lack a processor
			 * to stop.
			 */
			if (!is_asked)
				deadline_ns = later_of(deadline_ns, os_now_ns() + STOP_WITHIN_NS);
			is_asked = true;
			if (os_interrupt(c->tid, e) < 0)
				return -1;
		}
		if (pause_ns < LAST_PAUSE_NS)
			pause_ns += pause_ns / 2;
	} while (os_now_ns() < deadline_ns && !os_is_asked_to_end());
	c->stop = OS_STOP_TIMEOUT;
	*ret = worker_has_workspace(c) ? WORKER_TIMEOUT : WORKER_RETURNED;
	return 0;
}

/* Let C go, which is back in the program.  Returns 0 if nothing more was to be done in it. */
static int
leave_overslept(const struct long_call *call, struct worker *c, struct err *e)
{
	c->held_ns = os_now_ns() - c->stopped_ns;
	borrow_abandon(c);
	if (call->is_last)
		return 0;
	err_set_kind(e, ERR_NO_SAFE_POINT, 0,
		"%s was called in %d (%s), but its result is lost: memdiag got no processor in time to read it",
		call->name, c->callee->target->pid, c->callee->target->comm);
	return err_hint(e, "Try again when the machine is less busy");
}

static int
call_to_sleep(const struct long_call *call, struct worker *c, const struct workspace *ws,
	const struct sleep *sleep, enum worker_end *ret, struct err *e)
{
	const size_t level = c->nr_undo;
	/* If C oversleeps, its errno is restored on the way back. */
	int failed = worker_keep_errno(c, raddr_add(ws->data, ERRNO_OFFSET), e) < 0 ||
		sleep_lay(sleep, c, e) < 0 ||
		worker_launch_with(c, call->fn, call->arg, call->nr_args, call->next, call->nr_next,
			call->next_room, e) < 0;

	/* The way back already leads through these frames; no other call may use them. */
	while (c->nr_undo > level)
		worker_drop(c);
	if (failed || await_sleep(c, sleep, call->deadline_ns, ret, e) < 0)
		return -1;
	if (*ret != WORKER_RETURNED)
		return 0;
	return worker_has_workspace(c) ? worker_turn_back(c, e) : leave_overslept(call, c, e);
}

/* Make the helper's last call: it runs the undo list and ends by itself. */
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
		over = call_take_stop(c, &stop, ret, e);
	}
	if (over && stop.kind == OS_STOP_GONE && !stop.sig && target_is_alive(c->callee->target))
		*ret = WORKER_RETURNED;
	return over < 0 ? -1 : 0;
}

/*
 * Handle a call that does not return.  If it only waits for an arena's lock it holds nothing,
 * because malloc_info writes between the locks: then it is turned back.  Otherwise it must be left
 * to end by itself.
 */
static int
call_give_up(
	const struct long_call *call, struct worker *c, const struct sleep *sleep, struct err *e)
{
	struct err ignored;

	if (!call->holds_more && worker_stop_waiting(c) && worker_turn_back(c, &ignored) == 0)
		return err_hint(e, "It waited for an arena's lock and was turned back%s",
			call->fn.v == c->callee->fn.malloc_trim.v
				? "; arenas before that one may have been "
				  "trimmed"
				: "; nothing was changed");
	if (sleep->fn.v)
		sleep_forgo(sleep, c);
	borrow_abandon(c);
	return err_hint(e, "It was left to end by itself");
}

/* Make the call with a stop at each system call and between two calls. */
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
	struct sleep sleep = { .nr = 0 };
	uint64_t started = os_now_ns();
	enum worker_end end = WORKER_TIMEOUT;
	int failed = -1;

	switch (way_of(call, c, ws->data, &sleep)) {
	case WAY_TRACED:
		failed = call_traced(call, c, &end, e);
		break;
	case WAY_TO_SLEEP:
		failed = call_to_sleep(call, c, ws, &sleep, &end, e);
		break;
	case WAY_TO_END:
		failed = call_to_end(call, c, &end, e);
		break;
	}
	if (failed)
		return -1;
	*ret_ns = os_now_ns() - started;
	if (end == WORKER_RETURNED)
		return 0;
	worker_explain(c, end, call->name, e);
	return end == WORKER_TIMEOUT ? call_give_up(call, c, &sleep, e) : -1;
}
