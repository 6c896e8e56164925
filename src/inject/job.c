/*
 * Work in the target: borrow a thread, give the work a worker and memory, and restore everything.
 */
#include <config.h>

#include "inject/job.h"

#include "glibc/arena-threads.h"
#include "inject/borrow.h"
#include "inject/helper-priv.h"
#include "inject/helper.h"
#include "inject/needs.h"
#include "inject/surroundings.h"
#include "inject/target-priv.h"
#include "os/clock.h"
#include "os/os.h"
#include "os/ptrace.h"
#include "os/status.h"

#include <stdlib.h>

const char *const inject_mode_name[] = {
	[INJECT_MODE_AUTO] = "auto",
	[INJECT_MODE_HELPER] = "helper",
	[INJECT_MODE_THREAD] = "thread",
	NULL,
};

/*
 * After this the borrowed thread itself is let go wherever it is: it returns to the program by
 * itself.
 */
#define BORROW_LIMIT_NS 100000000

/* Do the work in the borrowed thread: for programs that have only one. */
static int
run_in_thread(struct job *job, struct worker *c, const struct workspace *ws, struct err *e)
{
	struct err undo_err;
	int failed = job->run(job, c, ws, e);

	job->report->mode = INJECT_MODE_THREAD;
	job->report->held_ns = c->held_ns;
	if (!failed && !c->is_ours)
		return 0; /* it returned to the program by itself */
	if (!c->is_ours || c->stop == OS_STOP_EXEC || c->stop == OS_STOP_TIMEOUT) {
		borrow_abandon(c);
		return -1;
	}
	if (worker_unwind(c, 1, os_now_ns() + BORROW_LIMIT_NS, failed ? &undo_err : e) < 0 ||
		borrow_return(c, failed ? &undo_err : e) < 0) {
		borrow_abandon(c);
		return -1;
	}
	job->report->held_ns = c->held_ns;
	return failed;
}

/* Have the borrowed thread make a helper, and free it.  Returns 1 if no helper could be made. */
static int
run_in_helper(struct job *job, struct worker *c, const struct workspace *ws, struct err *e)
{
	struct worker h = { 0 };
	int status = helper_make(c, ws, &h, os_now_ns() + BORROW_LIMIT_NS, e);

	if (status > 0)
		return status;
	job->report->mode = INJECT_MODE_HELPER;
	job->report->held_ns = c->held_ns;
	if (status == 0)
		status = job->run(job, &h, ws, e);
	borrow_end(c); /* does nothing once C was given back */
	helper_dismiss(&h);
	return status;
}

static bool
wants_helper(const struct job *job, const struct worker *c)
{
	const enum inject_mode mode = job->opt->mode;
	const struct inject_target *callee = c->callee;
	struct os_status s;
	struct err e;

	if (!callee->fn.pthread_create.v || mode == INJECT_MODE_THREAD)
		return false;
	if (mode == INJECT_MODE_HELPER)
		return true;
	/*
	 * The first pthread_create() ends libc's single-threaded mode for ever, so it is not made
	 * in a program that has one thread.  In a thread without an arena it would make one.  With
	 * another allocator, C is known to have used it; a helper has not, so only dlopen() takes
	 * one.
	 */
	if (os_status(callee->target, 0, &s, &e) < 0 || s.nr_threads == 1 || c->no_helper)
		return false;
	return callee->allocator ? job->is_loading
				 : arenas_of_thread(callee->arenas, callee->target, c->tid).v != 0;
}

/*
 * Return whether C may do the work itself if no helper does.  False if a helper was demanded, and
 * for dlopen() in a program with more threads: it waits for ld.so's lock, which another thread may
 * hold that in turn waits for this one.
 */
static bool
may_run_in_thread(const struct job *job, const struct worker *c)
{
	struct os_status s;
	struct err e;

	if (job->opt->mode == INJECT_MODE_HELPER)
		return !c->callee->fn.pthread_create.v;
	return !job->is_loading || job->opt->mode == INJECT_MODE_THREAD ||
		(os_status(c->callee->target, 0, &s, &e) == 0 && s.nr_threads == 1);
}

/* Give C back with nothing done, and report why. */
static int
refuse_thread(struct worker *c, struct err *e)
{
	const struct target *t = c->callee->target;
	struct err ignored;

	if (worker_unwind(c, 1, os_now_ns() + BORROW_LIMIT_NS, &ignored) < 0 ||
		borrow_return(c, &ignored) < 0)
		borrow_abandon(c);
	if (c->no_helper)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"a seccomp filter of thread %d of %d (%s) does not allow %s(), which the thread that would do it makes; "
			"nothing was changed",
			c->tid, t->pid, t->comm, c->no_helper);
	err_set_kind(e, ERR_NO_SAFE_POINT, 0,
		"%d (%s) could not make the thread that would do it: a limit on threads (pids.max, RLIMIT_NPROC) or on address space is in the way, or the borrowed thread has not used malloc yet; "
		"nothing was changed",
		t->pid, t->comm);
	return err_hint(e, "Raise the limit, or try again when the thread has used malloc");
}

static int
run_borrowed(struct job *job, struct worker *c, struct err *e)
{
	struct workspace ws;
	int status = 1;

	job->report->tid = c->tid;
	if (workspace_map(c, &ws, job->buffer_bytes, os_now_ns() + BORROW_LIMIT_NS, e) < 0) {
		borrow_end(c);
		return -1;
	}
	job->deadline_ns = os_now_ns() + job->opt->timeout_ns;
	if (wants_helper(job, c))
		status = run_in_helper(job, c, &ws, e);
	if (status <= 0)
		return status;
	return may_run_in_thread(job, c) ? run_in_thread(job, c, &ws, e) : refuse_thread(c, e);
}

static void
borrow_and_run(void *arg)
{
	struct job *job = arg;
	struct worker *c = calloc(1, sizeof *c);

	if (!c)
		job->status = err_set_kind(job->e, ERR_FAILED, 0, "no memory");
	else if (borrow_take(c, job->callee, job->opt, job->report, job->e) == 0)
		job->status = run_borrowed(job, c, job->e);
	free(c);
}

/* Return the system calls that JOB makes.  The only thread of a program waits for no lock. */
static unsigned int
needs_of(const struct job *job)
{
	struct os_status s;
	struct err e;

	return NEEDS_BORROW | job->needs |
		(job->opt->mode == INJECT_MODE_HELPER ? NEEDS_HELPER : 0) |
		(os_status(job->callee->target, 0, &s, &e) < 0 || s.nr_threads > 1 ? NEEDS_LOCKS
										   : 0);
}

int
job_run(struct job *job, const struct arenas *a, struct err *e)
{
	*job->report = (struct inject_report){ 0 };
	job->callee->arenas = a;
	job->callee->needs = needs_of(job);
	job->callee->needs_arena =
		job->is_loading && job->opt->mode != INJECT_MODE_THREAD && !job->callee->allocator;
	job->status = -1;
	job->e = e;
	if (inject_check_files(job->callee, e) < 0 ||
		surroundings_check(job->callee->target, job->opt, job->needed_bytes, e) < 0)
		return -1;
	return os_trace(borrow_and_run, job, e) < 0 ? -1 : job->status;
}
