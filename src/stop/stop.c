/*
 * Stop all threads of a target at the same time.  A thread continues by itself if memdiag dies.
 * The only writes to the target are the rest of a timeout (timeout.c).
 */
#include <config.h>

#include "stop/stop.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/debug.h"
#include "os/clock.h"
#include "os/os.h"
#include "os/status.h"
#include "os/target.h"
#include "stop/registers.h"

/*
 * The number of times that the list of threads is read before any stops; threads created later stop
 * later.
 */
#define EARLY_LISTS 3

/* Longest wait for one thread before the others are checked. */
#define PASS_NS 2000000

/* ---- the threads ---- */

/* Return the index of TID, or the index to insert it at. */
static size_t
stop_place_of(const struct stopped *s, pid_t tid)
{
	size_t lo = 0, hi = s->thread.nr;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (s->thread.v[mid].tid < tid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool
stop_is_known(const struct stopped *s, pid_t tid)
{
	size_t at = stop_place_of(s, tid);

	return at < s->thread.nr && s->thread.v[at].tid == tid;
}

static struct stopped_thread *
stop_add(struct stopped *s, pid_t tid)
{
	size_t at = stop_place_of(s, tid);

	if (!array_add(&s->thread))
		return NULL;
	memmove(&s->thread.v[at + 1], &s->thread.v[at],
		(s->thread.nr - 1 - at) * sizeof *s->thread.v);
	s->thread.v[at] = (struct stopped_thread){ .tid = tid };
	return &s->thread.v[at];
}

/* Attach to TID, which is not yet known.  ERR_GONE: it is exiting. */
static int
stop_attach(struct stopped *s, pid_t tid, struct err *e)
{
	struct stopped_thread *th = stop_add(s, tid);

	if (!th)
		return err_set_kind(e, ERR_FAILED, 0, "no memory to list threads");
	if (os_seize(s->target, tid, e) < 0) {
		th->state = STOPPED_GONE;
		return -1;
	}
	timeout_look(&th->timeout, s->target, tid);
	return 0;
}

/*
 * Attach to the unknown threads, youngest first: otherwise threads that create one and exit would
 * stay ahead of memdiag.
 */
static int
attach_new(struct stopped *s, bool *ret_is_new, struct err *e)
{
	auto_free pid_t *tids = NULL;
	size_t nr;

	*ret_is_new = false;
	if (os_threads(s->target, SIZE_MAX, &tids, &nr, e) < 0)
		return -1;
	while (nr--) {
		if (stop_is_known(s, tids[nr]))
			continue;
		*ret_is_new = true;
		if (stop_attach(s, tids[nr], e) < 0 && e->kind != ERR_GONE)
			return -1;
	}
	return 0;
}

/* ---- stopping ---- */

/* True for a stop by memdiag, not for a stop of the whole process by a signal. */
static bool
is_our_stop(const struct stopped_thread *th)
{
	return th->stop.kind == OS_STOP_EVENT || th->stop.kind == OS_STOP_SIGNAL;
}

/*
 * Restart the interrupted call now, not when the thread is let go: if memdiag dies, the call is
 * still made again.
 */
static void
stop_restart_call(const struct stopped *s, struct stopped_thread *th)
{
	struct arch_regs regs, before;
	struct err e;

	if (!is_our_stop(th) || arch_get_regs(th->tid, &regs, &e) < 0)
		return;
	before = regs;
	timeout_settle(&th->timeout, s->target, th->tid, &regs);
	if (memcmp(before.word, regs.word, regs.size_bytes) != 0 &&
		registers_set(th->tid, &regs, &e) < 0)
		debug("thread %d: %s", th->tid, e.msg);
}

/* Update the timeout: less is left now than at the stop. */
static void
renew(const struct stopped *s, const struct stopped_thread *th)
{
	struct arch_regs regs;
	struct err e;

	if ((th->timeout.kind != TIMEOUT_KNOWN && th->timeout.kind != TIMEOUT_OF_SOCKET) ||
		arch_get_regs(th->tid, &regs, &e) < 0)
		return;
	timeout_renew(&th->timeout, s->target, &regs);
	if (registers_set(th->tid, &regs, &e) < 0)
		debug("thread %d: %s", th->tid, e.msg);
}

static void
note_stop(struct stopped *s, struct stopped_thread *th, const struct os_stop *stop)
{
	if (stop->kind == OS_STOP_TIMEOUT)
		return;
	th->state = stop->kind == OS_STOP_GONE ? STOPPED_GONE : STOPPED_STANDS;
	th->stop = *stop;
	if (stop->kind != OS_STOP_EVENT) /* it may have stopped before it was asked to */
		th->since_ns = s->begun_ns;
	if (stop->kind == OS_STOP_EXEC)
		s->has_exec = true;
	if (th->state == STOPPED_STANDS)
		stop_restart_call(s, th);
}

/*
 * Interrupt all threads.  One that has just ended cannot be interrupted; await_all() notices its
 * end.
 */
static void
interrupt_all(struct stopped *s)
{
	struct err e;

	for (size_t i = 0; i < s->thread.nr; i++) {
		struct stopped_thread *th = &s->thread.v[i];

		if (th->state != STOPPED_NOT)
			continue;
		th->since_ns = th->timeout.asked_ns = os_now_ns();
		os_interrupt(th->tid, &e);
	}
}

/*
 * Wait for each thread in turn; all stop at the same time.  Limit each wait: a thread in exec waits
 * itself until memdiag has reaped the other threads.  *RET: a late thread, 0 if all stopped.
 */
static int
await_all(struct stopped *s, uint64_t deadline_ns, pid_t *ret, struct err *e)
{
	struct os_stop stop;

	do {
		uint64_t until = os_now_ns() + PASS_NS;

		*ret = 0;
		for (size_t i = 0; i < s->thread.nr; i++) {
			struct stopped_thread *th = &s->thread.v[i];

			if (th->state != STOPPED_NOT)
				continue;
			if (os_wait(th->tid, until < deadline_ns ? until : deadline_ns, &stop, e) <
				0)
				return -1;
			note_stop(s, th, &stop);
			if (th->state == STOPPED_NOT)
				*ret = th->tid;
		}
	} while (*ret && os_now_ns() < deadline_ns);
	return 0;
}

/* Seize every thread.  None is stopped yet, except by a signal. */
static int
attach_all(struct stopped *s, struct err *e)
{
	bool is_new = true;

	for (int i = 0; i < EARLY_LISTS && is_new; i++)
		if (attach_new(s, &is_new, e) < 0)
			return -1;
	return 0;
}

/*
 * Repeat until the list has no new thread while all known threads are stopped.  *RET as
 * await_all().
 */
static int
interrupt_until_all_stand(struct stopped *s, uint64_t deadline_ns, pid_t *ret, struct err *e)
{
	bool is_new;

	s->started_ns = os_now_ns();
	do {
		interrupt_all(s);
		if (await_all(s, deadline_ns, ret, e) < 0 || attach_new(s, &is_new, e) < 0)
			return -1;
	} while (is_new && !*ret);
	s->still_ns = os_now_ns();
	return 0;
}

/* Explain the late thread TID; IS_ALONE: no other thread was to be stopped. */
static int
explain_late(const struct target *t, pid_t tid, bool is_alone, struct err *e)
{
	struct os_status s = { .state = '?' };
	struct err ignored;
	char name[32];

	os_status(t, tid, &s, &ignored);
	if (is_alone)
		err_set_kind(e, ERR_NO_SAFE_POINT, 0,
			"thread %d of %d (%s) could not be stopped in time; nothing was changed",
			tid, t->pid, t->comm);
	else
		err_set_kind(e, ERR_NO_SAFE_POINT, 0,
			"not all threads of %d (%s) could be stopped in time; nothing was changed",
			t->pid, t->comm);
	return err_hint(e, "Thread %d (%s) did not stop, its state is %c%s", tid,
		os_thread_name(t, tid, name, sizeof name), s.state,
		s.state == 'D' ? ": it waits for a disk, or for a vfork child" : "");
}

int
stop_begin(struct stopped *s, const struct target *t, pid_t except, uint64_t max_ns, struct err *e)
{
	struct stopped_thread *th;
	pid_t late = 0;
	int failed;

	*s = (struct stopped){ .target = t, .begun_ns = os_now_ns() };
	th = except ? stop_add(s, except) : NULL;
	if (th)
		th->state = STOPPED_GONE;
	failed = attach_all(s, e) < 0 ||
		interrupt_until_all_stand(s, os_now_ns() + max_ns / 2, &late, e) < 0;
	if (!failed && !late && !s->has_exec)
		return 0;
	stop_end(s, NULL);
	if (s->has_exec || !target_is_alive(t))
		return err_set_kind(
			e, ERR_GONE, 0, "%d (%s) ended or ran another program", t->pid, t->comm);
	return failed ? -1 : explain_late(t, late, false, e);
}

/* ---- letting go ---- */

/* Longest wait for a late thread: memdiag's interrupt ends its call whenever it stops. */
#define LATE_NS UINT64_C(2000000000)

static void
let_go(const struct stopped *s, const struct stopped_thread *th)
{
	struct err e;

	renew(s, th);
	if (os_detach(th->tid, th->stop.kind == OS_STOP_SIGNAL ? th->stop.sig : 0, &e) < 0)
		debug("thread %d: %s", th->tid, e.msg);
}

/*
 * Wait for the threads that have not stopped, correct their timeouts, and let each go immediately.
 * All others run again.
 */
static void
let_late_go(struct stopped *s)
{
	const uint64_t deadline_ns = os_now_ns() + LATE_NS;
	struct os_stop stop;
	struct err e;

	for (size_t i = 0; i < s->thread.nr; i++) {
		struct stopped_thread *th = &s->thread.v[i];

		if (th->state != STOPPED_NOT)
			continue;
		if (os_wait(th->tid, deadline_ns, &stop, &e) == 0)
			note_stop(s, th, &stop);
		if (th->state == STOPPED_STANDS)
			let_go(s, th);
		else if (th->state == STOPPED_NOT)
			os_detach_later(th->tid);
	}
}

void
stop_end(struct stopped *s, struct stop_report *ret)
{
	struct stop_report sum = { .still_ns = os_now_ns() - s->still_ns };

	for (size_t i = 0; i < s->thread.nr; i++) {
		const struct stopped_thread *th = &s->thread.v[i];
		uint64_t held_ns;

		if (th->state != STOPPED_STANDS)
			continue;
		let_go(s, th);
		held_ns = os_now_ns() - th->since_ns;
		if (held_ns > sum.longest_ns)
			sum.longest_ns = held_ns;
		sum.nr_threads++;
	}
	let_late_go(s);
	free(s->thread.v);
	s->thread.v = NULL;
	s->thread.nr = s->thread.room = 0;
	if (ret)
		*ret = sum;
}

/* ---- a function called in between ---- */

struct stopping {
	const struct target *target;
	uint64_t max_ns;
	int (*fn)(uint64_t deadline_ns, void *arg, struct err *e);
	void *arg;
	struct stop_report *report;
	int status;
	struct err *e;
};

static void
stop_and_call(void *arg)
{
	struct stopping *call = arg;
	struct stopped s;

	call->status = stop_begin(&s, call->target, 0, call->max_ns, call->e);
	if (call->status < 0)
		return;
	call->status = call->fn(s.started_ns + call->max_ns, call->arg, call->e);
	stop_end(&s, call->report);
}

int
stop_threads(const struct target *t, uint64_t max_ns,
	int (*fn)(uint64_t deadline_ns, void *arg, struct err *e), void *arg,
	struct stop_report *ret, struct err *e)
{
	struct stopping call = { t, max_ns, fn, arg, ret, -1, e };

	*ret = (struct stop_report){ 0 };
	return os_trace(stop_and_call, &call, e) < 0 ? -1 : call.status;
}

/* ---- one thread alone ---- */

/*
 * Wait for a thread that executes another program: it gets the number of the first thread, under
 * which it stops (fs/exec.c, de_thread(); 2.6.27 to 6.18), and otherwise would stay stopped until
 * os_trace() ends.
 */
static int
await_exec(struct stopped *s, uint64_t deadline_ns, pid_t *ret_late, struct err *e)
{
	struct stopped_thread *th = &s->thread.v[0];

	if (th->state != STOPPED_GONE || th->tid == s->target->pid)
		return 0;
	th->tid = s->target->pid;
	th->state = STOPPED_NOT;
	return await_all(s, deadline_ns, ret_late, e);
}

/* Stop one thread.  *RET_LATE: TID if it has not stopped, 0 if it has. */
static int
stop_one(struct stopped *s, pid_t tid, uint64_t deadline_ns, pid_t *ret_late, struct err *e)
{
	if (stop_attach(s, tid, e) < 0)
		return -1;
	s->started_ns = os_now_ns();
	interrupt_all(s);
	if (await_all(s, deadline_ns, ret_late, e) < 0 ||
		await_exec(s, deadline_ns, ret_late, e) < 0)
		return -1;
	s->still_ns = os_now_ns();
	if (s->has_exec ||
		(!*ret_late &&
			(s->thread.v[0].state != STOPPED_STANDS || s->thread.v[0].tid != tid)))
		return err_set_kind(e, ERR_GONE, 0, "thread %d of %d (%s) has ended", tid,
			s->target->pid, s->target->comm);
	return 0;
}

int
stop_thread(const struct target *t, pid_t tid, uint64_t max_ns,
	int (*fn)(uint64_t deadline_ns, void *arg, struct err *e), void *arg,
	struct stop_report *ret, struct err *e)
{
	struct stopped s = { .target = t, .begun_ns = os_now_ns() };
	pid_t late = 0;
	int status = stop_one(&s, tid, s.begun_ns + LATE_NS, &late, e);

	if (status == 0 && !late)
		status = fn(s.still_ns + max_ns, arg, e);
	stop_end(&s, ret);
	return late ? explain_late(t, late, true, e) : status;
}
