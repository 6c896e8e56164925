/*
 * Work that is done in the target: borrow a thread, give the work a carrier and memory of its own,
 * and put all back.
 */
#include <config.h>

#include "inject/inject-priv.h"

#include <stdlib.h>

/* The borrowed thread itself is let go after this, wherever it is: it goes home by itself. */
#define BORROW_LIMIT_NS 100000000

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

int
job_run(struct job *job, const struct arenas *a, struct err *e)
{
	*job->report = (struct inject_report){ 0 };
	job->it->arenas = a;
	job->status = -1;
	job->e = e;
	return os_trace(borrow_and_run, job, e) < 0 ? -1 : job->status;
}
