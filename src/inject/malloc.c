/* Call malloc_info and malloc_trim in the target, and do what malloc_trim leaves undone. */
#include <config.h>

#include "inject/malloc.h"

#include "inject/borrow.h"
#include "inject/call.h"
#include "inject/capture.h"
#include "inject/job.h"
#include "inject/needs.h"
#include "inject/target.h"
#include "os/clock.h"
#include "os/os.h"
#include "os/ptrace.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/*
 * An arena's lines are at most 137 sizes of about 75 bytes and some totals (malloc_info 4.1).  The
 * buffer has twice that, and room for arenas that are made meanwhile.  Untouched pages cost
 * nothing.
 */
#define INFO_BYTES_PER_ARENA UINT64_C(24576)
#define INFO_BYTES_MORE 262144

/* ---- malloc_info ---- */

struct malloc_info_call {
	struct text *out;
	struct redirect redirect;
};

/* Call malloc_info(0, STREAM). */
static int
call_malloc_info(
	struct job *job, struct worker *c, const struct workspace *ws, raddr stream, struct err *e)
{
	struct long_call call = { .name = "malloc_info",
		.fn = c->callee->fn.malloc_info,
		.arg = { 0, stream.v },
		.nr_args = 2,
		.deadline_ns = job->deadline_ns };

	return long_call_make(&call, c, ws, &job->report->call_ns, e);
}

static int
info_to_stream(struct job *job, struct worker *c, const struct workspace *ws, struct err *e)
{
	const struct malloc_info_call *info = job->arg;
	struct stream_copy stream;

	if (stream_copy_lay(&stream, c, ws, e) < 0 ||
		call_malloc_info(job, c, ws, stream.file, e) < 0)
		return -1;
	return stream_copy_read(&stream, c->callee, info->out, &job->report->is_cut, e);
}

static int
info_to_fd2(struct job *job, struct worker *c, const struct workspace *ws, struct err *e)
{
	const size_t level = c->nr_undo;
	struct malloc_info_call *info = job->arg;

	if (redirect_begin(&info->redirect, c, ws, job->deadline_ns, e) < 0 ||
		call_malloc_info(job, c, ws, c->callee->stderr_stream, e) < 0 ||
		worker_unwind(c, level, job->deadline_ns, e) < 0)
		return -1;
	return 0;
}

static int
check_stream(const struct inject_target *callee, struct err *e)
{
	if (inject_can_copy_stream(callee))
		return 0;
	return err_set_kind(e, ERR_UNSUPPORTED, 0,
		"cannot copy the standard error stream of %d (%s): it does not look as glibc makes it; "
		"use --method=read, which needs none, or --capture=fd2",
		callee->target->pid, callee->target->comm);
}

int
inject_malloc_info(struct inject_target *callee, const struct arenas *a,
	const struct inject_options *opt, struct text *out, struct inject_report *ret,
	struct err *e)
{
	struct malloc_info_call info = { out, REDIRECT_NONE };
	struct job job = { .callee = callee,
		.opt = opt,
		.report = ret,
		.run = info_to_stream,
		.arg = &info,
		.buffer_bytes = INFO_BYTES_MORE + a->nr * INFO_BYTES_PER_ARENA };
	struct err replay_err;
	int failed;

	*out = (struct text){ 0 };
	if (inject_check_calls(callee, e) < 0)
		return -1;
	if (opt->capture == INJECT_CAPTURE_FD2)
		job.run = info_to_fd2;
	if ((opt->capture == INJECT_CAPTURE_FD2 ? redirect_check(callee, e)
						: check_stream(callee, e)) < 0)
		return -1;
	failed = job_run(&job, a, e);
	ret->capture = opt->capture;
	/* Pass on other output, however the call ended. */
	if (redirect_read(&info.redirect, callee, out, ret, failed ? &replay_err : e) < 0)
		failed = -1;
	redirect_release(&info.redirect);
	if (failed)
		text_release(out);
	return failed;
}

/* ---- malloc_trim ---- */

static int
malloc_call_trim(struct job *job, struct worker *c, const struct workspace *ws, struct err *e)
{
	const uint64_t *pad_bytes = job->arg;
	struct long_call call = { .name = "malloc_trim",
		.fn = c->callee->fn.malloc_trim,
		.arg = { *pad_bytes },
		.nr_args = 1,
		.is_last = true,
		.deadline_ns = job->deadline_ns };

	return long_call_make(&call, c, ws, &job->report->call_ns, e);
}

int
inject_malloc_trim(struct inject_target *callee, const struct arenas *a,
	const struct inject_options *opt, uint64_t pad_bytes, struct inject_report *ret,
	struct err *e)
{
	struct job job = { .callee = callee,
		.opt = opt,
		.report = ret,
		.needs = NEEDS_TRIM,
		.run = malloc_call_trim,
		.arg = &pad_bytes };

	return inject_check_calls(callee, e) < 0 ? -1 : job_run(&job, a, e);
}

/* ---- returning pages under the arena's lock ---- */

struct discarding {
	const struct inject_discard *what;
	struct inject_discarded *done;
};

/*
 * The target itself takes the lock, by libc's own slow way to wait for one, and the undo list
 * releases it: if we die it is still released, after the call.  Stopping all threads and finding
 * the lock free is not enough: they continue when we die, with the call still under way.
 */
#define LOCK_WITHIN_NS 20000000

/*
 * A worker that gets no processor is given more time: with the lock held, nothing better can be
 * done.
 */
#define STARVED_NS UINT64_C(2000000000)

/* Bytes that are returned at a time, in about a millisecond or two. */
#define DISCARD_BYTES (UINT64_C(8) << 20)

/*
 * The seventh argument of FUTEX_WAKE_OP, val3: store 0, which unlocks.  The call then wakes one
 * waiter (val), and no second one (val2).
 */
_Static_assert((ARCH_SEVENTH_ARG & ~0xfff) == FUTEX_OP(FUTEX_OP_SET, 0, FUTEX_OP_CMP_EQ, 0),
	"the lock would not be left");

static int
promise_unlock(struct worker *c, raddr mutex, struct err *e)
{
	const uint64_t arg[] = { SYS_futex, mutex.v, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 1, 0,
		mutex.v, ARCH_SEVENTH_ARG };

	return worker_undo(c, c->callee->fn.syscall, arg, 7, e);
}

/*
 * Lock MUTEX.  Returns 0, 1 if the lock could not be taken in time (C is unchanged), or -1 with E.
 * A worker that may or may not have the lock must not be given another call: it takes and releases
 * the lock by itself.
 */
static int
malloc_lock(struct worker *c, raddr mutex, struct err *e)
{
	const uint64_t last_ns = os_now_ns() + STARVED_NS;
	enum worker_end end;

	if (promise_unlock(c, mutex, e) < 0 ||
		worker_call(c, c->callee->fn.lock, &mutex.v, 1, os_now_ns() + LOCK_WITHIN_NS, &end,
			e) < 0)
		return -1;
	while (end == WORKER_TIMEOUT && os_now_ns() < last_ns) {
		if (worker_stop_waiting(c)) {
			worker_drop(c); /* it has no lock to release */
			return worker_turn_back(c, e) < 0 ? -1 : 1;
		}
		if (c->stop == OS_STOP_SYSCALL)
			return 0;
		if (c->stop != OS_STOP_EVENT && c->stop != OS_STOP_GROUP)
			break;
		if (worker_go_on(c, os_now_ns() + LOCK_WITHIN_NS, &end, e) < 0)
			return -1;
	}
	if (end == WORKER_RETURNED)
		return 0;
	if (end == WORKER_TIMEOUT)
		borrow_abandon(c);
	if (end == WORKER_FAULT)
		worker_drop(c);
	return worker_explain(c, end, "locking an arena", e);
}

static int
discard_pages(struct job *job, struct worker *c, const struct inject_range *r, struct err *e)
{
	const uint64_t arg[] = { r->start.v, r->end.v - r->start.v, MADV_DONTNEED };
	const struct discarding *d = job->arg;
	enum worker_end end;

	if (worker_call(c, c->callee->fn.madvise, arg, 3, job->deadline_ns, &end, e) < 0)
		return -1;
	if (end != WORKER_RETURNED)
		return worker_explain(c, end, "madvise", e);
	if (c->result < 0)
		return err_set(e, (int)-c->result,
			"%d (%s) cannot give back %" PRIu64 " bytes at " PRIraddr,
			c->callee->target->pid, c->callee->target->comm, arg[1], arg[0]);
	d->done->bytes += arg[1];
	return 0;
}

/* Return some of *R to the kernel, and cut that off.  Returns as malloc_lock(). */
static int
discard_some(struct job *job, struct worker *c, struct inject_range *r, struct err *e)
{
	const struct discarding *d = job->arg;
	const size_t level = c->nr_undo;
	struct inject_range part;
	uint64_t locked_ns;
	struct err ours;
	int failed = malloc_lock(c, r->arena, e);

	if (failed)
		return failed;
	locked_ns = os_now_ns();
	if (!d->what->is_free(r, d->what->arg) || r->start.v >= r->end.v) {
		r->start = r->end;
	} else {
		part = *r;
		if (part.end.v - part.start.v > DISCARD_BYTES)
			part.end.v = part.start.v + DISCARD_BYTES;
		r->start = part.end;
		failed = discard_pages(job, c, &part, e);
	}
	if (c->is_ours && c->stop == OS_STOP_SYSCALL &&
		worker_unwind(c, level, os_now_ns() + STARVED_NS, failed ? &ours : e) < 0)
		failed = -1;
	locked_ns = os_now_ns() - locked_ns;
	if (locked_ns > d->done->longest_lock_ns)
		d->done->longest_lock_ns = locked_ns;
	return failed;
}

static int
discard(struct job *job, struct worker *c, const struct workspace *ws, struct err *e)
{
	const struct discarding *d = job->arg;

	(void)ws;
	for (size_t i = 0; i < d->what->nr; i++) {
		struct inject_range left = d->what->range[i];
		int status = 0;

		while (status == 0 && left.start.v < left.end.v) {
			if (os_now_ns() >= job->deadline_ns || os_is_asked_to_end())
				return err_set(e, 0,
					"only %" PRIu64 " bytes could be given back in time",
					d->done->bytes);
			status = discard_some(job, c, &left, e);
		}
		if (status < 0)
			return -1;
		d->done->nr_busy += (size_t)status;
	}
	return 0;
}

static int
check_discard(const struct inject_target *callee, const struct arenas *a,
	const struct inject_discard *what, struct err *e)
{
	if (!callee->fn.lock.v || !callee->fn.syscall.v || !callee->fn.madvise.v)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"the libc of %d (%s) has no function that waits for an arena's lock",
			callee->target->pid, callee->target->comm);
	for (size_t i = 0; i < what->nr; i++) {
		const struct inject_range *r = &what->range[i];
		bool is_known = false;

		for (size_t j = 0; j < a->nr; j++)
			is_known |= a->v[j].addr.v == r->arena.v;
		if (!is_known)
			return err_set(e, 0, "there is no arena at " PRIraddr, r->arena.v);
	}
	return 0;
}

int
inject_discard(struct inject_target *callee, const struct arenas *a,
	const struct inject_options *opt, const struct inject_discard *what,
	struct inject_discarded *ret, struct inject_report *report, struct err *e)
{
	struct discarding d = { what, ret };
	struct job job = { .callee = callee,
		.opt = opt,
		.report = report,
		.needs = NEEDS_TOPS,
		.run = discard,
		.arg = &d };

	*ret = (struct inject_discarded){ 0 };
	return check_discard(callee, a, what, e) < 0 ? -1 : job_run(&job, a, e);
}
