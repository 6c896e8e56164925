/*
 * malloc_info and malloc_trim, called in the target.
 */
#include <config.h>

#include "inject/inject-priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
