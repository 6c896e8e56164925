/*
 * A copy of the target by fork.  A helper makes it while all other threads are stopped, and waits
 * for its end:
 *
 *	clone() -> wait4() -> munmap(workspace) -> the end of the helper
 *
 * The copy begins on a stack of its own, from which it returns into _exit(): it does that when it
 * is let go, so also when memdiag dies.  Then the helper's wait is over.
 */
#include <config.h>

#include "inject/copy.h"

#include "base/text.h"
#include "inject/borrow.h"
#include "inject/helper.h"
#include "inject/job.h"
#include "inject/needs.h"
#include "inject/target.h"
#include "inject/worker.h"
#include "os/cgroup.h"
#include "os/child.h"
#include "os/clock.h"
#include "os/frozen.h"
#include "os/frozen-take.h"
#include "os/machine.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/proc.h"
#include "os/ptrace.h"
#include "os/status.h"
#include "os/target.h"
#include "stop/stop.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Linux copies the page tables of a GiB in 22 to 29 ms; less with huge pages. */
#define FORK_NS_PER_GIB UINT64_C(30000000)
/* Memory beyond the page tables that the target must have left at the beginning, and later. */
#define BEGIN_ROOM_BYTES (UINT64_C(256) << 20)
#define LEAST_ROOM_BYTES (UINT64_C(96) << 20)
/* A target that writes to all of its memory copies less than 40 MiB in this time. */
#define WATCH_NS 10000000
/* How often a free moment of malloc is looked for, and for how long it waits in between. */
#define TRIES_MAX 30
#define PAUSE_NS 2000000
#define END_WITHIN_NS UINT64_C(5000000000)
#define STACK_BYTES UINT64_C(16384) /* of the copy, for _exit() */

struct inject_copying {
	struct job *job;
	const struct inject_copy *what;
	struct inject_copied *done;
	pid_t helper;
	struct target copy; /* pid 0: not made yet, or ended */
	uint64_t made_ns;
	pthread_t watch;
	bool is_watched;
	atomic_bool is_over;	    /* for the watch */
	atomic_bool is_short;	    /* the watch has ended the copy: memory was short */
	atomic_bool is_interrupted; /* likewise, because memdiag was asked to end */
};

/* ---- memory ---- */

/* Return the memory that the target may still get. */
static uint64_t
copy_room(const struct target *t)
{
	const uint64_t available = os_memory_available();
	struct os_memory_room r;

	os_memory_room(t, &r);
	return r.bytes < available ? r.bytes : available;
}

/* Fail if the copy of a target with status S would take too much memory or time. */
static int
copy_check(const struct inject_copying *c, const struct os_status *s, struct err *e)
{
	const struct target *t = c->job->callee->target;
	const uint64_t need = s->vm_pte_bytes + BEGIN_ROOM_BYTES, room = copy_room(t);
	const uint64_t fork_ns =
		(s->rss_anon_bytes + s->vm_swap_bytes) / 1024 * FORK_NS_PER_GIB / (1024 * 1024);
	char a[32], b[32];

	/*
	 * Without a free huge page, the write of a process to one that its child shares raises
	 * SIGBUS, unless the page was reserved (mm/hugetlb.c, hugetlb_wp).
	 */
	if (s->hugetlb_bytes)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%d (%s) has huge pages of hugetlbfs; after a fork it may lack one, and end",
			t->pid, t->comm);
	if (s->nr_threads < 2)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%d (%s) has one thread, which would have to wait for the copy", t->pid,
			t->comm);
	if (os_overcommits_never())
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"vm.overcommit_memory is 2: a copy of %d (%s) would take from what other programs may allocate",
			t->pid, t->comm);
	if (fork_ns > c->what->max_stop_ns) {
		err_set_kind(e, ERR_NO_SAFE_POINT, 0,
			"a copy of %d (%s), which has %s of memory, may stop it for %" PRIu64 " ms",
			t->pid, t->comm, text_bytes(s->rss_anon_bytes, a, sizeof a),
			fork_ns / 1000000);
		return err_hint(e, "--max-stop allows a longer stop");
	}
	if (room >= need)
		return 0;
	err_set_kind(e, ERR_NO_SAFE_POINT, 0,
		"a copy of %d (%s) takes %s of memory and more, and %s are left", t->pid, t->comm,
		text_bytes(need, a, sizeof a), text_bytes(room, b, sizeof b));
	return err_hint(e, "Without --fork nothing is copied, and the stop is longer");
}

/* ---- the watch ---- */

/* End the copy when memory is short, or memdiag is asked to end. */
static void *
copy_watch(void *arg)
{
	struct inject_copying *c = arg;

	while (!c->is_over) {
		if (copy_room(c->job->callee->target) < LEAST_ROOM_BYTES)
			c->is_short = true;
		if (os_is_asked_to_end())
			c->is_interrupted = true;
		/* The number stays the copy's: its end is collected when the watch is over. */
		if (c->is_short || c->is_interrupted) {
			os_end_traced(c->copy.pid);
			return NULL;
		}
		os_sleep_ns(WATCH_NS);
	}
	return NULL;
}

/* ---- the end ---- */

/* Wait until the helper has seen the end of the copy, and has ended itself. */
static void
await_helper(const struct inject_copying *c)
{
	const uint64_t deadline_ns = os_now_ns() + END_WITHIN_NS;
	struct os_syscall s;
	struct err e;

	while (os_now_ns() < deadline_ns &&
		os_thread_syscall(c->job->callee->target, c->helper, &s, &e) == 0)
		os_attend(1000000);
}

void
inject_copy_end(struct inject_copying *c)
{
	const uint64_t deadline_ns = os_now_ns() + END_WITHIN_NS;
	struct os_stop stop = { .kind = OS_STOP_TIMEOUT };
	struct err e;

	if (!c->copy.pid)
		return;
	c->is_over = true;
	if (c->is_watched)
		pthread_join(c->watch, NULL);
	c->is_watched = false;
	os_end_traced(c->copy.pid);
	while (stop.kind != OS_STOP_GONE && os_now_ns() < deadline_ns &&
		os_wait(c->copy.pid, deadline_ns, &stop, &e) == 0)
		;
	target_release(&c->copy);
	c->copy.pid = 0;
	c->done->existed_ns = os_now_ns() - c->made_ns;
	await_helper(c);
	/* Until now the copy made the target slower than the lack of a processor does. */
	os_unhurry();
}

/* ---- in the stop ---- */

/* Keep the threads of the target, all of which are stopped. */
static int
freeze_threads(const struct stopped *s, pid_t helper, struct os_frozen *f, struct err *e)
{
	for (size_t i = 0; i < s->thread.nr; i++) {
		const struct stopped_thread *th = &s->thread.v[i];

		if ((th->state == STOPPED_STANDS || th->tid == helper) &&
			os_frozen_add(f, th->tid, e) < 0)
			return -1;
	}
	return 0;
}

/* Return whether no arena is locked. */
static bool
is_malloc_free(const struct inject_target *callee)
{
	for (size_t i = 0; i < callee->arenas->nr; i++) {
		int32_t mutex = 1;
		struct err e;

		if (os_read(callee->target, callee->arenas->v[i].addr, &mutex, sizeof mutex, &e) <
				0 ||
			mutex)
			return false;
	}
	return true;
}

/*
 * Have H make the copy, which begins with the frame at STACK.  It shares the table of files: what
 * the target closes meanwhile is closed.  Its end sends no signal.
 */
static int
copy_make(struct worker *h, raddr stack, uint64_t deadline_ns, struct err *e)
{
	const uint64_t arg[] = { SYS_clone, CLONE_FILES, stack.v, 0, 0, 0 };
	struct err ours;

	h->new_tid = 0;
	if (worker_syscall(h, h->callee->fn.syscall, arg, 6, deadline_ns, "fork", &ours) == 0 &&
		h->new_tid)
		return 0;
	if (h->new_tid)
		os_detach_later(h->new_tid);
	*e = ours;
	if (!h->new_tid && !e->kind)
		return err_set(e, 0, "the copy of %d was not seen", h->callee->target->pid);
	return -1;
}

/* Stop all threads but H, and make the copy.  0, 1 if malloc was at work, or -1 with E. */
static int
copy_try(
	struct inject_copying *c, struct worker *h, raddr stack, struct os_frozen *f, struct err *e)
{
	const struct target *t = h->callee->target;
	struct stop_report report = { 0 };
	struct stopped s;
	int status = 1;

	if (stop_begin(&s, t, h->tid, c->what->max_stop_ns, e) < 0)
		return -1;
	if (is_malloc_free(h->callee))
		status = freeze_threads(&s, h->tid, f, e) < 0 ||
				copy_make(h, stack, s.started_ns + c->what->max_stop_ns, e) < 0
			? -1
			: 0;
	stop_end(&s, &report);
	c->done->nr_stops++;
	c->done->stopped_ns += report.longest_ns;
	if (report.longest_ns > c->done->longest_ns)
		c->done->longest_ns = report.longest_ns;
	return status;
}

static int
copy_try_all(
	struct inject_copying *c, struct worker *h, raddr stack, struct os_frozen *f, struct err *e)
{
	const struct target *t = h->callee->target;
	int status = 1;

	for (int i = 0; i < TRIES_MAX && status > 0; i++) {
		if (i)
			os_attend(PAUSE_NS);
		status = copy_try(c, h, stack, f, e);
	}
	if (status > 0)
		return err_set_kind(e, ERR_NO_SAFE_POINT, 0,
			"a thread of %d (%s) was inside malloc each time that it was stopped",
			t->pid, t->comm);
	return status;
}

/* ---- all of it ---- */

/*
 * Make H wait for the copy on its way back, which it does even if memdiag dies right after the copy
 * was made; and lay the way of the copy, to its end.
 */
static int
copy_lay_ways(struct worker *h, const struct workspace *ws, raddr *ret_stack, struct err *e)
{
	const uint64_t wait[] = { SYS_wait4, (uint64_t)-1, 0, __WCLONE | __WNOTHREAD, 0 };
	const struct next_call end = { h->callee->fn.syscall, { SYS_exit_group, 0 }, 2 };

	return worker_undo(h, h->callee->fn.syscall, wait, 5, e) < 0 ||
			worker_lay(h, &end, raddr_add(ws->buffer, ws->buffer_bytes), ret_stack, e) <
				0
		? -1
		: 0;
}

/* Let the helper wait, and have the copy read. */
static int
copy_use(struct inject_copying *c, struct worker *h, const struct os_frozen *f, struct err *e)
{
	const struct target *t = h->callee->target;
	const uint64_t deadline_ns = os_now_ns() + END_WITHIN_NS;
	const pid_t pid = h->new_tid;
	struct os_stop stop;
	int failed;

	c->helper = h->tid;
	borrow_abandon(h);
	if (os_wait(pid, deadline_ns, &stop, e) < 0 ||
		(stop.kind != OS_STOP_EVENT &&
			err_set(e, ESRCH, "the copy of %d has ended", t->pid)) ||
		os_end_first(pid, e) < 0 || target_open_frozen(&c->copy, pid, f, e) < 0) {
		os_detach_later(pid);
		return -1;
	}
	c->made_ns = os_now_ns();
	c->is_watched = pthread_create(&c->watch, NULL, copy_watch, c) == 0;
	failed = !c->is_watched ? err_set(e, EAGAIN, "cannot start a thread")
				: c->what->use(&c->copy, c, c->what->arg, e);
	/* The OOM killer was faster than the watch. */
	if (failed && c->copy.pid && !c->is_interrupted && !target_is_alive(&c->copy))
		c->is_short = true;
	inject_copy_end(c);
	if (failed && c->is_short)
		return err_set_kind(e, ERR_NO_SAFE_POINT, 0,
			"memory became short; the copy of %d (%s) was removed", t->pid, t->comm);
	return failed;
}

static int
copy_run(struct job *job, struct worker *h, const struct workspace *ws, struct err *e)
{
	struct inject_copying *c = job->arg;
	const struct target *t = job->callee->target;
	struct os_frozen *f = NULL;
	struct os_status s;
	raddr stack;
	int failed;

	if (os_status(t, 0, &s, e) < 0 || copy_check(c, &s, e) < 0)
		return -1;
	if (!h->is_helper)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%d (%s) can make no thread that waits for the copy", t->pid, t->comm);
	if (os_frozen_new(&f, t, h->tid, e) < 0)
		return -1;
	failed = copy_lay_ways(h, ws, &stack, e) < 0 || os_trace_births(h->tid, true, e) < 0 ||
		copy_try_all(c, h, stack, f, e) < 0 || copy_use(c, h, f, e) < 0;
	os_frozen_free(f);
	return failed ? -1 : 0;
}

int
inject_copy(struct inject_target *callee, const struct arenas *a, const struct inject_options *opt,
	const struct inject_copy *what, struct inject_copied *ret, struct inject_report *report,
	struct err *e)
{
	struct inject_copying c = { .what = what, .done = ret, .copy = TARGET_NONE };
	struct job job = { .callee = callee,
		.opt = opt,
		.report = report,
		.needs = NEEDS_COPY,
		.is_loading = true,
		.buffer_bytes = LONG_CALL_NEXT_BYTES + STACK_BYTES,
		.run = copy_run,
		.arg = &c };
	struct os_status s;

	c.job = &job;
	*ret = (struct inject_copied){ 0 };
	if (!callee->fn.syscall.v)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"the libc of %d (%s) has no function for system calls", callee->target->pid,
			callee->target->comm);
	if (inject_check_calls(callee, e) < 0 || os_status(callee->target, 0, &s, e) < 0 ||
		copy_check(&c, &s, e) < 0)
		return -1;
	job.needed_bytes = s.vm_pte_bytes + BEGIN_ROOM_BYTES;
	return job_run(&job, a, e);
}
