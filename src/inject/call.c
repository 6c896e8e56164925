/*
 * Calls that take their time: malloc_info and malloc_trim hold the locks of arenas, so a carrier must
 * not be stopped at each system call they make.  Left to run, how is it known that they are done?  A
 * helper that has nothing more to do simply ends.  Otherwise a short sleep is put on the way back,
 * and the carrier is stopped in it.
 */
#include <config.h>

#include "inject/inject-priv.h"

#include <sys/syscall.h>
#include <time.h>

/* How soon the sleep is noticed, at first and at last. */
#define FIRST_PAUSE_NS 20000
#define LAST_PAUSE_NS 1000000
/* How soon a wish to end is noticed. */
#define LOOK_UP_NS 100000000

static const struct timespec sleep_time = { .tv_nsec = 500000000 };

enum way {
	WAY_TRACED,	/* with a stop at each system call */
	WAY_TO_SLEEP,
	WAY_TO_END,
};

/*
 * The way to the sleep goes through an rt_sigreturn, so a borrowed thread whose interrupted call needs
 * its restart_block must be traced.  So must one under a seccomp filter, which may not know the sleep.
 */
static enum way
way_of(const struct long_call *call, const struct carrier *c)
{
	struct os_status s;
	struct err e;

	if (c->is_helper && call->is_last)
		return WAY_TO_END;
	if (!c->is_helper && arch_restart(&c->saved.regs) == ARCH_RESTARTS_FROM_BLOCK)
		return WAY_TRACED;
	if (os_status(c->it->target, c->tid, &s, &e) < 0 || s.seccomp)
		return WAY_TRACED;
	return WAY_TO_SLEEP;
}

static int
lay_sleep(struct carrier *c, const struct workspace *ws, struct err *e)
{
	if (os_write(c->it->target, ws->data, &sleep_time, sizeof sleep_time, e) < 0)
		return -1;
	return carrier_undo(c, c->it->fn.ppoll, (uint64_t[]){ 0, 0, ws->data.v, 0 }, 4, e);
}

static bool
is_asleep(const struct carrier *c)
{
	struct os_syscall s;
	struct err e;

	return os_thread_syscall(c->it->target, c->tid, &s, &e) == 0 && !s.is_running &&
		s.nr == SYS_ppoll && s.sp.v > c->room.v &&
		s.sp.v <= c->undo[c->nr_undo - 2].frame.v;
}

/*
 * Take in one stop of a carrier that runs freely.  Returns 1 when the call is over with *RET, 0 when
 * the carrier runs on, -1 on failure.
 */
static int
take_stop(struct carrier *c, const struct os_stop *stop, enum carrier_end *ret, struct err *e)
{
	c->stop = stop->kind;
	switch (stop->kind) {
	case OS_STOP_GONE:
		c->is_ours = false;
		/* fall through */
	case OS_STOP_EXEC:
		*ret = CARRIER_GONE;
		return 1;
	case OS_STOP_TIMEOUT:
		return 0;
	case OS_STOP_SIGNAL:
		*ret = CARRIER_FAULT;
		c->fault_sig = stop->sig;
		if (carrier_is_fault(stop))
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

/* Wait until the carrier sleeps, and stop it there; or until it ends or does not come back. */
static int
await_sleep(struct carrier *c, uint64_t deadline_ns, enum carrier_end *ret, struct err *e)
{
	uint64_t pause_ns = FIRST_PAUSE_NS;

	while (os_now_ns() < deadline_ns && !os_is_asked_to_end()) {
		struct os_stop stop;
		int over;

		if (os_wait(c->tid, os_now_ns() + pause_ns, &stop, e) < 0)
			return -1;
		over = take_stop(c, &stop, ret, e);
		if (over)
			return over < 0 ? -1 : 0;
		if (stop.kind == OS_STOP_TIMEOUT && is_asleep(c)) {
			*ret = CARRIER_RETURNED;
			/* The call is over; among busy threads it may only lack a processor. */
			return carrier_stop_by(c, deadline_ns, e);
		}
		if (pause_ns < LAST_PAUSE_NS)
			pause_ns += pause_ns / 2;
	}
	c->stop = OS_STOP_TIMEOUT;
	*ret = CARRIER_TIMEOUT;
	return 0;
}

static int
call_to_sleep(const struct long_call *call, struct carrier *c, const struct workspace *ws,
	enum carrier_end *ret, struct err *e)
{
	if (lay_sleep(c, ws, e) < 0 || carrier_launch(c, call->fn, call->arg, call->nr_args, e) < 0 ||
		await_sleep(c, call->deadline_ns, ret, e) < 0)
		return -1;
	c->nr_undo--;	/* slept or not, the way back goes past it now */
	return *ret == CARRIER_RETURNED ? carrier_turn_back(c, e) : 0;
}

/* The undo list is the last the helper runs, and it does so by itself. */
static int
call_to_end(const struct long_call *call, struct carrier *c, enum carrier_end *ret, struct err *e)
{
	struct os_stop stop;
	int over = 0;

	if (carrier_launch(c, call->fn, call->arg, call->nr_args, e) < 0)
		return -1;
	*ret = CARRIER_TIMEOUT;
	while (!over && os_now_ns() < call->deadline_ns && !os_is_asked_to_end()) {
		if (os_wait(c->tid, os_now_ns() + LOOK_UP_NS, &stop, e) < 0)
			return -1;
		over = take_stop(c, &stop, ret, e);
	}
	if (over && stop.kind == OS_STOP_GONE && !stop.sig && target_is_alive(c->it->target))
		*ret = CARRIER_RETURNED;
	return over < 0 ? -1 : 0;
}

/*
 * It does not come back.  If it only waits for an arena's lock it holds nothing, for malloc_info
 * writes between the locks: then it is turned back.  Else it must be left to end by itself.
 */
static int
give_up(const struct long_call *call, struct carrier *c, struct err *e)
{
	struct err ignored;

	if (!call->holds_more && carrier_stop_waiting(c) && carrier_turn_back(c, &ignored) == 0)
		return err_hint(e, "It waited for an arena's lock and was turned back; nothing was changed");
	borrow_abandon(c);
	return err_hint(e, "It was left to end by itself");
}

int
long_call_make(const struct long_call *call, struct carrier *c, const struct workspace *ws,
	uint64_t *ret_ns, struct err *e)
{
	uint64_t started = os_now_ns();
	enum carrier_end end = CARRIER_TIMEOUT;
	int failed = -1;

	switch (way_of(call, c)) {
	case WAY_TRACED:
		failed = carrier_call(
			c, call->fn, call->arg, call->nr_args, call->deadline_ns, &end, e);
		break;
	case WAY_TO_SLEEP:
		failed = call_to_sleep(call, c, ws, &end, e);
		break;
	case WAY_TO_END:
		failed = call_to_end(call, c, &end, e);
		break;
	}
	if (failed)
		return -1;
	*ret_ns = os_now_ns() - started;
	if (end == CARRIER_RETURNED)
		return 0;
	carrier_explain(c, end, call->name, e);
	return end == CARRIER_TIMEOUT ? give_up(call, c, e) : -1;
}
