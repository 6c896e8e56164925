/*
 * malloc_info and malloc_trim called in the target, and what malloc_trim leaves undone.
 */
#include <config.h>

#include "inject/inject-priv.h"

#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/debug.h"
#include "inject/capture.h"

/* The borrowed thread itself is let go after this, wherever it is: it goes home by itself. */
#define BORROW_LIMIT_NS 100000000

/*
 * An arena's lines are at most 137 sizes of about 75 bytes and some totals (malloc_info 4.1); twice
 * that, and room for arenas that are made meanwhile.  Untouched pages cost nothing.
 */
#define INFO_BYTES_PER_ARENA UINT64_C(24576)
#define INFO_BYTES_MORE 262144

/* ---- a job: what is done with the carrier ---- */

struct job {
	struct inject_target *it;
	const struct inject_options *opt;
	struct inject_report *report;
	uint64_t deadline_ns;
	uint64_t buffer_bytes;	/* of the workspace, for what malloc_info writes */
	int status;
	struct err *e;
	/* malloc_info */
	struct text *out;
	struct redirect redirect;
	/* malloc_trim */
	uint64_t pad_bytes;
	/* inject_discard() */
	const struct inject_discard *discard;
	struct inject_discarded *discarded;
	/*
	 * Do it.  The carrier comes stopped, with its undo list laid, and goes stopped in front of
	 * that list; or running home (stop is OS_STOP_TIMEOUT), or gone.
	 */
	int (*run)(struct job *job, struct carrier *c, const struct workspace *ws, struct err *e);
};

/* The borrowed thread does it all: for programs that have only one. */
static int
run_in_thread(struct job *job, struct carrier *c, const struct workspace *ws, struct err *e)
{
	struct err undo_err;
	int failed = job->run(job, c, ws, e);

	job->report->mode = INJECT_MODE_THREAD;
	if (!c->is_ours || c->stop == OS_STOP_EXEC || c->stop == OS_STOP_TIMEOUT) {
		borrow_abandon(c);
		return -1;
	}
	if (carrier_unwind(c, 1, os_now_ns() + BORROW_LIMIT_NS, failed ? &undo_err : e) < 0 ||
		borrow_return(c, failed ? &undo_err : e) < 0) {
		borrow_abandon(c);
		return -1;
	}
	job->report->held_ns = c->held_ns;
	return failed;
}

/* The borrowed thread makes a helper and is free.  1: no helper could be made. */
static int
run_in_helper(struct job *job, struct carrier *c, const struct workspace *ws, struct err *e)
{
	struct carrier h = { 0 };
	int status = helper_make(
		c, ws, &h, os_now_ns() + BORROW_LIMIT_NS, job->deadline_ns, e);

	if (status > 0)
		return status;
	job->report->mode = INJECT_MODE_HELPER;
	job->report->held_ns = c->held_ns;
	if (status == 0)
		status = job->run(job, &h, ws, e);
	borrow_abandon(c);	/* nothing, once it was given back */
	helper_dismiss(&h);
	return status;
}

static bool
wants_helper(const struct inject_target *it, const struct carrier *c, enum inject_mode mode)
{
	struct os_status s;
	struct err e;

	if (!it->fn.pthread_create.v || mode == INJECT_MODE_THREAD)
		return false;
	if (mode == INJECT_MODE_HELPER)
		return true;
	/*
	 * The first pthread_create() ends libc's single-threaded mode for ever: not in a program
	 * that has one thread.  And in a thread without an arena it would make one.
	 */
	return os_status(it->target, 0, &s, &e) == 0 && s.nr_threads > 1 &&
		arenas_of_thread(it->arenas, it->target, c->tid).v;
}

static int
run_borrowed(struct job *job, struct carrier *c, struct err *e)
{
	struct workspace ws;
	int status = 1;

	job->report->tid = c->tid;
	if (workspace_map(c, &ws, job->buffer_bytes, os_now_ns() + BORROW_LIMIT_NS, e) < 0) {
		borrow_abandon(c);
		return -1;
	}
	job->deadline_ns = os_now_ns() + job->opt->timeout_ns;
	if (wants_helper(c->it, c, job->opt->mode))
		status = run_in_helper(job, c, &ws, e);
	return status > 0 ? run_in_thread(job, c, &ws, e) : status;
}

static void
borrow_and_run(void *arg)
{
	struct job *job = arg;
	struct carrier *c = calloc(1, sizeof *c);

	if (!c)
		job->status = err_set_kind(job->e, ERR_FAILED, 0, "no memory");
	else if (borrow_take(c, job->it, job->opt, job->report, job->e) == 0)
		job->status = run_borrowed(job, c, job->e);
	free(c);
}

static int
run_job(struct job *job, const struct arenas *a, struct err *e)
{
	*job->report = (struct inject_report){ 0 };
	job->it->arenas = a;
	job->status = -1;
	job->e = e;
	return os_trace(borrow_and_run, job, e) < 0 ? -1 : job->status;
}

/* ---- malloc_info ---- */

/* Call malloc_info(0, STREAM). */
static int
call_malloc_info(struct job *job, struct carrier *c, const struct workspace *ws, raddr stream,
	struct err *e)
{
	struct long_call call = { .name = "malloc_info", .fn = c->it->fn.malloc_info,
		.arg = { 0, stream.v }, .nr_args = 2, .deadline_ns = job->deadline_ns };

	return long_call_make(&call, c, ws, &job->report->call_ns, e);
}

static int
info_to_stream(struct job *job, struct carrier *c, const struct workspace *ws, struct err *e)
{
	struct stream_copy stream;

	if (stream_copy_lay(&stream, c->it, ws, e) < 0 ||
		call_malloc_info(job, c, ws, stream.file, e) < 0)
		return -1;
	return stream_copy_read(&stream, c->it, job->out, &job->report->is_cut, e);
}

static int
info_to_fd2(struct job *job, struct carrier *c, const struct workspace *ws, struct err *e)
{
	const size_t level = c->nr_undo;

	if (redirect_begin(&job->redirect, c, ws, job->deadline_ns, e) < 0 ||
		call_malloc_info(job, c, ws, c->it->stderr_stream, e) < 0 ||
		carrier_unwind(c, level, job->deadline_ns, e) < 0)
		return -1;
	return 0;
}

int
inject_malloc_info(struct inject_target *it, const struct arenas *a,
	const struct inject_options *opt, struct text *out, struct inject_report *ret, struct err *e)
{
	struct job job = { .it = it, .opt = opt, .report = ret, .out = out, .run = info_to_stream,
		.redirect = REDIRECT_NONE,
		.buffer_bytes = INFO_BYTES_MORE + a->nr * INFO_BYTES_PER_ARENA };
	struct err replay_err;
	int failed;

	*out = (struct text){ 0 };
	if (opt->capture == INJECT_CAPTURE_FD2 || !stream_copy_is_possible(it)) {
		if (redirect_check(it, e) < 0)
			return -1;
		job.run = info_to_fd2;
	}
	failed = run_job(&job, a, e);
	ret->capture = job.run == info_to_fd2 ? INJECT_CAPTURE_FD2 : INJECT_CAPTURE_STREAM;
	/* What others wrote is theirs, however the call went. */
	if (redirect_read(&job.redirect, out, &ret->replayed_bytes, failed ? &replay_err : e) < 0)
		failed = -1;
	redirect_release(&job.redirect);
	if (failed)
		text_release(out);
	return failed;
}

/* ---- malloc_trim ---- */

static int
trim(struct job *job, struct carrier *c, const struct workspace *ws, struct err *e)
{
	struct long_call call = { .name = "malloc_trim", .fn = c->it->fn.malloc_trim,
		.arg = { job->pad_bytes }, .nr_args = 1, .is_last = true,
		.deadline_ns = job->deadline_ns };

	return long_call_make(&call, c, ws, &job->report->call_ns, e);
}

int
inject_malloc_trim(struct inject_target *it, const struct arenas *a,
	const struct inject_options *opt, uint64_t pad_bytes, struct inject_report *ret,
	struct err *e)
{
	struct job job = { .it = it, .opt = opt, .report = ret, .pad_bytes = pad_bytes,
		.run = trim };

	return run_job(&job, a, e);
}

/* ---- giving back pages under the arena's lock ---- */

/*
 * The lock is taken by the target itself, through libc's own slow way to wait for one, and left by
 * what is on the undo list then: should we die, it is left all the same, and after the call.  To stop
 * all threads instead and see the lock free would not do: they run on when we die, with the call
 * still under way.
 */
#define LOCK_WITHIN_NS 20000000

/* One that gets no processor is given more time: with the lock there is nothing better to do. */
#define STARVED_NS UINT64_C(2000000000)

/* So much is given back at a time, in about a millisecond or two. */
#define DISCARD_BYTES (UINT64_C(8) << 20)

/*
 * What FUTEX_WAKE_OP does with its seventh argument as val3: store 0; that is how a lock is left.
 * Then it wakes one who waits for it (val), and no second one (val2).
 */
_Static_assert((ARCH_SEVENTH_ARG & ~0xfff) == FUTEX_OP(FUTEX_OP_SET, 0, FUTEX_OP_CMP_EQ, 0),
	"the lock would not be left");

static int
promise_unlock(struct carrier *c, raddr mutex, struct err *e)
{
	const uint64_t arg[] = { SYS_futex, mutex.v, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 1, 0,
		mutex.v, ARCH_SEVENTH_ARG };

	return carrier_undo(c, c->it->fn.syscall, arg, 7, e);
}

/*
 * Returns 0, 1 if the lock was not to be had in time (C is as before), or -1 with E.  A carrier that
 * may have it or not must not be turned to anything: it gets it and leaves it by itself.
 */
static int
lock(struct carrier *c, raddr mutex, struct err *e)
{
	const uint64_t last_ns = os_now_ns() + STARVED_NS;
	enum carrier_end end;

	if (promise_unlock(c, mutex, e) < 0 ||
		carrier_call(c, c->it->fn.lock, &mutex.v, 1, os_now_ns() + LOCK_WITHIN_NS, &end, e) < 0)
		return -1;
	while (end == CARRIER_TIMEOUT && os_now_ns() < last_ns) {
		if (carrier_stop_waiting(c)) {
			c->nr_undo--;	/* it has no lock to leave */
			return carrier_turn_back(c, e) < 0 ? -1 : 1;
		}
		if (c->stop != OS_STOP_EVENT && c->stop != OS_STOP_GROUP)
			break;
		if (carrier_go_on(c, os_now_ns() + LOCK_WITHIN_NS, &end, e) < 0)
			return -1;
	}
	if (end == CARRIER_RETURNED)
		return 0;
	if (end == CARRIER_TIMEOUT)
		borrow_abandon(c);
	if (end == CARRIER_FAULT)
		c->nr_undo--;
	return carrier_explain(c, end, "locking an arena", e);
}

static int
discard_pages(struct job *job, struct carrier *c, const struct inject_range *r, struct err *e)
{
	const uint64_t arg[] = { r->start.v, r->end.v - r->start.v, MADV_DONTNEED };
	enum carrier_end end;

	if (carrier_call(c, c->it->fn.madvise, arg, 3, job->deadline_ns, &end, e) < 0)
		return -1;
	if (end != CARRIER_RETURNED)
		return carrier_explain(c, end, "madvise", e);
	if (c->result < 0)
		return err_set(e, (int)-c->result, "%d (%s) cannot give back %" PRIu64 " bytes at "
			PRIraddr, c->it->target->pid, c->it->target->comm, arg[1], arg[0]);
	job->discarded->bytes += arg[1];
	return 0;
}

/* Give back some of *R and cut that off.  Returns as lock(). */
static int
discard_some(struct job *job, struct carrier *c, struct inject_range *r, struct err *e)
{
	const size_t level = c->nr_undo;
	struct inject_range part;
	uint64_t locked_ns;
	struct err ours;
	int failed = lock(c, r->arena, e);

	if (failed)
		return failed;
	locked_ns = os_now_ns();
	if (!job->discard->is_free(r, job->discard->arg) || r->start.v >= r->end.v) {
		r->start = r->end;
	} else {
		part = *r;
		if (part.end.v - part.start.v > DISCARD_BYTES)
			part.end.v = part.start.v + DISCARD_BYTES;
		r->start = part.end;
		failed = discard_pages(job, c, &part, e);
	}
	if (c->is_ours && c->stop == OS_STOP_SYSCALL &&
		carrier_unwind(c, level, os_now_ns() + STARVED_NS, failed ? &ours : e) < 0)
		failed = -1;
	locked_ns = os_now_ns() - locked_ns;
	if (locked_ns > job->discarded->longest_lock_ns)
		job->discarded->longest_lock_ns = locked_ns;
	return failed;
}

static int
discard(struct job *job, struct carrier *c, const struct workspace *ws, struct err *e)
{
	(void)ws;
	for (size_t i = 0; i < job->discard->nr; i++) {
		struct inject_range left = job->discard->range[i];
		int status = 0;

		while (status == 0 && left.start.v < left.end.v) {
			if (os_now_ns() >= job->deadline_ns || os_is_asked_to_end())
				return err_set(e, 0, "only %" PRIu64 " bytes could be given back in time",
					job->discarded->bytes);
			status = discard_some(job, c, &left, e);
		}
		if (status < 0)
			return -1;
		job->discarded->nr_busy += (size_t)status;
	}
	return 0;
}

static int
check_discard(const struct inject_target *it, const struct arenas *a,
	const struct inject_discard *what, struct err *e)
{
	if (!it->fn.lock.v || !it->fn.syscall.v || !it->fn.madvise.v)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"the libc of %d (%s) has no function that waits for an arena's lock",
			it->target->pid, it->target->comm);
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
inject_discard(struct inject_target *it, const struct arenas *a, const struct inject_options *opt,
	const struct inject_discard *what, struct inject_discarded *ret,
	struct inject_report *report, struct err *e)
{
	struct job job = { .it = it, .opt = opt, .report = report, .discard = what,
		.discarded = ret, .run = discard };

	*ret = (struct inject_discarded){ 0 };
	return check_discard(it, a, what, e) < 0 ? -1 : run_job(&job, a, e);
}
