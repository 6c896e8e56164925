/*
 * All threads of a target stopped at the same time.  Nothing is written to it: a thread goes on by
 * itself whenever we die.
 */
#include <config.h>

#include "inject/inject-priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/debug.h"

/* So often the list of threads is read before anything stops; what is new afterwards stops later. */
#define EARLY_LISTS 3

/* One thread is not waited for longer than this before the others are looked at. */
#define PASS_NS 2000000

/* ---- the threads ---- */

/* The index of TID, or where it would be. */
static size_t
place_of(const struct freeze *f, pid_t tid)
{
	size_t lo = 0, hi = f->thread.nr;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (f->thread.v[mid].tid < tid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool
is_known(const struct freeze *f, pid_t tid)
{
	size_t at = place_of(f, tid);

	return at < f->thread.nr && f->thread.v[at].tid == tid;
}

static struct frozen *
add(struct freeze *f, pid_t tid)
{
	size_t at = place_of(f, tid);

	if (!array_add(&f->thread))
		return NULL;
	memmove(&f->thread.v[at + 1], &f->thread.v[at],
		(f->thread.nr - 1 - at) * sizeof *f->thread.v);
	f->thread.v[at] = (struct frozen){ .tid = tid };
	return &f->thread.v[at];
}

/*
 * Attach to the threads that are not known yet.  The youngest come first: threads that make one and
 * end would else stay ahead of us.
 */
static int
attach_new(struct freeze *f, bool *ret_is_new, struct err *e)
{
	auto_free pid_t *tids = NULL;
	size_t nr;

	*ret_is_new = false;
	if (os_threads(f->target, SIZE_MAX, &tids, &nr, e) < 0)
		return -1;
	while (nr--) {
		struct frozen *th;

		if (is_known(f, tids[nr]))
			continue;
		*ret_is_new = true;
		th = add(f, tids[nr]);
		if (!th)
			return err_set_kind(e, ERR_FAILED, 0, "no memory to list threads");
		if (os_seize(f->target, tids[nr], e) == 0)
			continue;
		th->state = FROZEN_GONE;
		if (e->kind != ERR_GONE)
			return -1;
	}
	return 0;
}

/* ---- stopping ---- */

/*
 * At once, and not when it is let go: should we die, the call is made again all the same.  A stop of
 * the whole process by a signal is none of ours.
 */
static void
mend(const struct frozen *th)
{
	struct arch_regs regs;
	struct err e;

	if (th->stop.kind != OS_STOP_EVENT && th->stop.kind != OS_STOP_SIGNAL)
		return;
	if (arch_get_regs(th->tid, &regs, &e) == 0 && borrow_mend(&regs) &&
		arch_set_regs(th->tid, &regs, &e) < 0)
		debug("thread %d: %s", th->tid, e.msg);
}

static void
note_stop(struct freeze *f, struct frozen *th, const struct os_stop *stop)
{
	if (stop->kind == OS_STOP_TIMEOUT)
		return;
	th->state = stop->kind == OS_STOP_GONE ? FROZEN_GONE : FROZEN_STANDS;
	th->stop = *stop;
	if (stop->kind != OS_STOP_EVENT)	/* perhaps before it was asked to */
		th->since_ns = f->begun_ns;
	if (stop->kind == OS_STOP_EXEC)
		f->has_exec = true;
	mend(th);
}

/* One that has just ended cannot be interrupted; await_all() hears of it. */
static void
interrupt_all(struct freeze *f)
{
	struct err e;

	for (size_t i = 0; i < f->thread.nr; i++) {
		struct frozen *th = &f->thread.v[i];

		if (th->state != FROZEN_NOT)
			continue;
		th->since_ns = os_now_ns();
		os_interrupt(th->tid, &e);
	}
}

/*
 * Wait for each in turn; all come to a stop at the same time.  But for none too long: a thread that
 * execs waits itself until we have seen the others end.  *RET: one that is late, 0 if none is.
 */
static int
await_all(struct freeze *f, uint64_t deadline_ns, pid_t *ret, struct err *e)
{
	struct os_stop stop;

	do {
		uint64_t until = os_now_ns() + PASS_NS;

		*ret = 0;
		for (size_t i = 0; i < f->thread.nr; i++) {
			struct frozen *th = &f->thread.v[i];

			if (th->state != FROZEN_NOT)
				continue;
			if (os_wait(th->tid, until < deadline_ns ? until : deadline_ns, &stop, e) < 0)
				return -1;
			note_stop(f, th, &stop);
			if (th->state == FROZEN_NOT)
				*ret = th->tid;
		}
	} while (*ret && os_now_ns() < deadline_ns);
	return 0;
}

/* Nobody stands, but who gets a signal, until all are ours. */
static int
attach_all(struct freeze *f, struct err *e)
{
	bool is_new = true;

	for (int i = 0; i < EARLY_LISTS && is_new; i++)
		if (attach_new(f, &is_new, e) < 0)
			return -1;
	return 0;
}

/* Until the list has nobody new while all that are known stand.  *RET as await_all(). */
static int
stop_all(struct freeze *f, uint64_t deadline_ns, pid_t *ret, struct err *e)
{
	bool is_new;

	f->started_ns = os_now_ns();
	do {
		interrupt_all(f);
		if (await_all(f, deadline_ns, ret, e) < 0 || attach_new(f, &is_new, e) < 0)
			return -1;
	} while (is_new && !*ret);
	f->still_ns = os_now_ns();
	return 0;
}

static int
explain_late(const struct target *t, pid_t tid, struct err *e)
{
	struct os_status s = { .state = '?' };
	struct err ignored;
	char name[32];

	os_status(t, tid, &s, &ignored);
	err_set_kind(e, ERR_NO_SAFE_POINT, 0,
		"not all threads of %d (%s) could be stopped in time; nothing was changed", t->pid,
		t->comm);
	return err_hint(e, "Thread %d (%s) did not stop, its state is %c%s", tid,
		os_thread_name(t, tid, name, sizeof name), s.state,
		s.state == 'D' ? ": it waits for a disk, or for a vfork child" : "");
}

int
freeze_begin(struct freeze *f, const struct target *t, pid_t except, uint64_t max_ns, struct err *e)
{
	struct frozen *th;
	pid_t late = 0;
	int failed;

	*f = (struct freeze){ .target = t, .begun_ns = os_now_ns() };
	th = except ? add(f, except) : NULL;
	if (th)
		th->state = FROZEN_GONE;
	failed = attach_all(f, e) < 0 || stop_all(f, os_now_ns() + max_ns / 2, &late, e) < 0;
	if (!failed && !late && !f->has_exec)
		return 0;
	freeze_end(f, NULL);
	if (f->has_exec || !target_is_alive(t))
		return err_set_kind(e, ERR_GONE, 0, "%d (%s) ended or ran another program", t->pid,
			t->comm);
	return failed ? -1 : explain_late(t, late, e);
}

/* ---- letting go ---- */

void
freeze_end(struct freeze *f, struct inject_freeze *ret)
{
	struct inject_freeze sum = { .still_ns = os_now_ns() - f->still_ns };

	for (size_t i = 0; i < f->thread.nr; i++) {
		const struct frozen *th = &f->thread.v[i];
		uint64_t held_ns;
		struct err e;

		if (th->state == FROZEN_NOT)
			os_detach_later(th->tid);
		if (th->state != FROZEN_STANDS)
			continue;
		if (os_detach(th->tid, th->stop.kind == OS_STOP_SIGNAL ? th->stop.sig : 0, &e) < 0)
			debug("thread %d: %s", th->tid, e.msg);
		held_ns = os_now_ns() - th->since_ns;
		if (held_ns > sum.longest_ns)
			sum.longest_ns = held_ns;
		sum.nr_threads++;
	}
	free(f->thread.v);
	f->thread.v = NULL;
	f->thread.nr = f->thread.room = 0;
	if (ret)
		*ret = sum;
}

/* ---- a function called in between ---- */

struct freezing {
	const struct target *target;
	uint64_t max_ns;
	int (*fn)(uint64_t deadline_ns, void *arg, struct err *e);
	void *arg;
	struct inject_freeze *report;
	int status;
	struct err *e;
};

static void
freeze_and_call(void *arg)
{
	struct freezing *z = arg;
	struct freeze f;

	z->status = freeze_begin(&f, z->target, 0, z->max_ns, z->e);
	if (z->status < 0)
		return;
	z->status = z->fn(f.started_ns + z->max_ns, z->arg, z->e);
	freeze_end(&f, z->report);
}

int
inject_freeze(const struct target *t, uint64_t max_ns,
	int (*fn)(uint64_t deadline_ns, void *arg, struct err *e), void *arg,
	struct inject_freeze *ret, struct err *e)
{
	struct freezing z = { t, max_ns, fn, arg, ret, -1, e };

	*ret = (struct inject_freeze){ 0 };
	return os_trace(freeze_and_call, &z, e) < 0 ? -1 : z.status;
}
