/*
 * Calls of a function that overwrites its return address, as the kernel does for a probe on the
 * return (uretprobe, before 6.11): one call after the other returns, and so do those that undo
 * something; if memdiag dies, they are made by the frames that it has left.
 */
#include <config.h>

#include <sys/mman.h>

#include "child.h"
#include "inject/call.h"
#include "inject/job.h"
#include "inject/malloc.h"
#include "inject/target.h"
#include "os/clock.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/ptrace.h"
#include "os/target.h"

/* Add 1 to *RDI, overwrite the return address, and return. */
extern const char messy[];
__asm__(".text\n"
	".globl messy\n"
	"messy:\n"
	"	incl (%rdi)\n"
	"	pop %rcx\n"
	"	push $1\n"
	"	add $8, %rsp\n"
	"	xor %eax, %eax\n"
	"	jmp *%rcx\n");

/* More than there is room for in a workspace, if none were given back. */
#define NR_ROUNDS 100

static const raddr fn = { (uintptr_t)messy };
static uint32_t *nr_calls; /* shared with the child */

static bool
call(struct job *job, struct worker *c, struct err *e)
{
	const uint64_t arg[] = { (uintptr_t)nr_calls };
	enum worker_end end = WORKER_GONE;

	return worker_call(c, fn, arg, 1, job->deadline_ns, &end, e) == 0 && end == WORKER_RETURNED;
}

static bool
undo(struct worker *c, struct err *e)
{
	const uint64_t arg[] = { (uintptr_t)nr_calls };

	return worker_undo(c, fn, arg, 1, e) == 0;
}

/* What is undone gives its room back: else frames would reach what lies below the workspace. */
static void
test_room(struct job *job, struct worker *c, struct err *e)
{
	const size_t level = c->nr_undo;
	const uint32_t before = *nr_calls;
	struct err refused;
	uint32_t nr = 0;

	while (nr < NR_ROUNDS && undo(c, e) && call(job, c, e) && undo(c, e) &&
		worker_unwind(c, level, job->deadline_ns, e) == 0)
		nr++;
	ok(nr == NR_ROUNDS, "two are undone again and again %s", e->msg);
	is_u64(*nr_calls - before, 3 * NR_ROUNDS, "each with its calls");
	while (nr && undo(c, &refused))
		nr--;
	ok(nr > NR_ROUNDS - MAX_UNDO, "no more than %d calls can be undone", MAX_UNDO);
	ok(worker_unwind(c, level, job->deadline_ns, e) == 0, "these calls are %s", e->msg);
}

/* Writes are confined to the workspace, whatever their size. */
static void
test_bounds(struct worker *c, const struct workspace *ws, struct err *e)
{
	const struct target *t = c->callee->target;
	const raddr end = raddr_add(ws->start, ws->size_bytes);
	const uint64_t ours = 0x5a5a5a5a5a5a5a5a;
	uint64_t found = 0;
	struct err refused;

	ok(worker_write(c, ws->data, &ours, sizeof ours, e) == 0 &&
			os_read(t, ws->data, &found, sizeof found, e) == 0 && found == ours,
		"memory of the workspace is written %s", e->msg);
	ok(worker_write(c, (raddr){ end.v - sizeof ours }, &ours, sizeof ours, e) == 0,
		"the last word of the workspace is written %s", e->msg);
	ok(worker_write(c, (raddr){ end.v - 4 }, &ours, sizeof ours, &refused) < 0,
		"four bytes behind its end are not written");
	ok(worker_write(c, (raddr){ ws->start.v - 4 }, &ours, sizeof ours, &refused) < 0,
		"four before its beginning are not written");
	ok(worker_write(c, end, &ours, 1, &refused) < 0, "one at its end is not written");
	ok(worker_write(c, ws->data, &ours, SIZE_MAX, &refused) < 0,
		"more bytes than it has are not written");
	ok(worker_write(c, (raddr){ (uintptr_t)nr_calls }, &ours, sizeof ours, &refused) < 0,
		"memory of the program is not written");
}

static int
test_calls(struct job *job, struct worker *c, const struct workspace *ws, struct err *e)
{
	const size_t level = c->nr_undo;
	const struct next_call next[] = {
		{ fn, { (uintptr_t)nr_calls }, 1 },
		{ fn, { (uintptr_t)nr_calls }, 1 },
	};
	const struct long_call calls = { .name = "messy",
		.fn = fn,
		.arg = { (uintptr_t)nr_calls },
		.nr_args = 1,
		.next = next,
		.nr_next = 2,
		.next_room = ws->stack_top,
		.deadline_ns = job->deadline_ns };
	uint64_t ns;

	ok(call(job, c, e) && call(job, c, e), "it is called twice %s", e->msg);
	ok(undo(c, e) && call(job, c, e) && undo(c, e) && call(job, c, e),
		"above two calls that undo something %s", e->msg);
	ok(worker_unwind(c, level, job->deadline_ns, e) == 0, "which are made %s", e->msg);
	is_u64(*nr_calls, 6, "all of them");
	ok(long_call_make(&calls, c, ws, &ns, e) == 0, "several without a stop %s", e->msg);
	is_u64(*nr_calls, 9, "each of them");
	test_room(job, c, e);
	test_bounds(c, ws, e);
	*nr_calls = 9;
	ok(undo(c, e) && call(job, c, e) && undo(c, e), "two are left to be undone %s", e->msg);
	return 0;
}

/* As if memdiag had been killed between two calls. */
static int
die(struct job *job, struct worker *c, const struct workspace *ws, struct err *e)
{
	(void)ws;
	_exit(call(job, c, e) && undo(c, e) && call(job, c, e) && undo(c, e) && call(job, c, e)
			? 0
			: 1);
}

static void
run(struct view *v,
	int (*work)(struct job *job, struct worker *c, const struct workspace *ws, struct err *e))
{
	const struct inject_options opt = { .mode = INJECT_MODE_THREAD,
		.wait_ns = UINT64_C(300000000000),
		.timeout_ns = UINT64_C(300000000000) };
	auto_inject_target struct inject_target *callee = NULL;
	struct inject_report report = { 0 };
	struct job job = { .opt = &opt, .report = &report, .run = work };

	*nr_calls = 0;
	if (!ok(inject_target_new(&callee, &v->p, &v->e) == 0 &&
			    process_find_arenas(&v->p, NULL, &v->e) == 0,
		    "it can be called into %s", v->e.msg))
		return;
	job.callee = callee;
	ok(job_run(&job, &v->p.arenas, &v->e) == 0, "calls are made %s", v->e.msg);
}

static void
be_child(void *arg)
{
	(void)arg;
	free(malloc(100));
	child_ready();
}

static void
test_death(struct view *v)
{
	const uint64_t end_ns = os_now_ns() + UINT64_C(300000000000);
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (freopen("/dev/null", "w", stdout)) /* it counts for nothing there */
			run(v, die);
		_exit(2);
	}
	waitpid(pid, &status, 0);
	is_u64((uint64_t)status, 0, "a memdiag dies between two calls");
	while (*(volatile uint32_t *)nr_calls < 5 && target_is_alive(&v->t) && os_now_ns() < end_ns)
		usleep(1000);
	is_u64(*nr_calls, 5, "what is to be undone is undone nevertheless");
}

int
main(void)
{
	struct child c;
	struct view v;

	if (skip_if_sanitized("calls into a child"))
		return tap_end();
	nr_calls = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (nr_calls == MAP_FAILED)
		abort();
	c = child_start(be_child, NULL);
	if (!ok(c.is_ready, "a child is ready") || !view_take(&v, c.pid))
		return tap_end();
	run(&v, test_calls);
	is_u64(*nr_calls, 12, "which job_run() does");
	test_death(&v);
	view_release(&v);
	ok(child_end(&c), "the child lives on");
	return tap_end();
}
