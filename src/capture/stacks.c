#include <config.h>

#include "capture/stacks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "agentdata/collect.h"
#include "agentdata/live-files.h"
#include "arch/arch.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "elf/image.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/ptrace.h"
#include "os/status.h"
#include "os/target.h"
#include "profile/symbols.h"
#include "stack/stack.h"
#include "stop/stop.h"

/* The bytes that are copied at once: few stacks are deeper. */
#define COPY_BYTES ((size_t)64 << 10)
/* The list of threads is read again until it has no new one, at most this often. */
#define MAX_LISTS 4

/* The state while stacks are read. */
struct stacks_reading {
	struct stacks *stacks;
	const struct process *process;
	const struct stacks_options *options;
	struct walker *walker;
	bool is_late; /* a thread could not be stopped */
	/* of the present thread */
	pid_t tid;
	struct arch_regs regs;
	char *copy;
	size_t copy_bytes;
	struct stack *stack;
	int status;
	struct err *e;
};

void
stacks_release(struct stacks *s)
{
	profile_free(s->p);
	free(s->threads.v);
	free(s->marks.v);
	*s = (struct stacks){ 0 };
}

static int
stacks_no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "cannot keep stacks");
}

/* ---- while a thread is stopped ---- */

static int
stacks_copy_stack(uint64_t deadline_ns, void *arg, struct err *e)
{
	struct stacks_reading *r = arg;
	const struct region *in;
	size_t bytes = COPY_BYTES;
	ssize_t n;
	raddr sp;

	(void)deadline_ns;
	if (arch_get_regs(r->tid, &r->regs, e) < 0)
		return -1;
	sp = arch_sp(&r->regs);
	in = regions_find(&r->process->maps, sp);
	if (in && in->end.v - sp.v < bytes)
		bytes = in->end.v - sp.v;
	/* A stack pointer may have any value, but a process without memory has no stacks. */
	n = os_read_present_some(r->process->target, sp, r->copy, bytes, e);
	r->copy_bytes = n > 0 ? (size_t)n : 0;
	return n < 0 && e->kind == ERR_GONE ? -1 : 0;
}

static void
stacks_walk(struct stacks_reading *r, uint64_t deadline_ns, bool is_held)
{
	const struct stack_source source = { .regs = r->regs.word,
		.sp = arch_sp(&r->regs),
		.copy = r->copy,
		.copy_bytes = r->copy_bytes,
		.maps = &r->process->maps,
		.deadline_ns = deadline_ns,
		.is_held = is_held };

	stack_walk_far(r->walker, &source, r->stack);
}

static int
copy_and_walk(uint64_t deadline_ns, void *arg, struct err *e)
{
	if (stacks_copy_stack(deadline_ns, arg, e) < 0)
		return -1;
	stacks_walk(arg, deadline_ns, true);
	return 0;
}

static int
stacks_stop(struct stacks_reading *r, int (*fn)(uint64_t deadline_ns, void *arg, struct err *e),
	struct err *e)
{
	struct stop_report report;
	int status =
		stop_thread(r->process->target, r->tid, r->options->max_stop_ns, fn, r, &report, e);

	r->stacks->nr_stops += report.nr_threads;
	r->stacks->stopped_ns += report.longest_ns;
	if (report.longest_ns > r->stacks->longest_ns)
		r->stacks->longest_ns = report.longest_ns;
	return status;
}

/*
 * Read one stack.  Most stacks fit into the copy.  A deep one does not, nor does the stack below a
 * signal handler on a separate stack: then the thread is stopped once more, and walked while it is
 * stopped, mostly by rules that the first walk has found.
 */
static int
stacks_read_stack(struct stacks_reading *r, struct err *e)
{
	if (stacks_stop(r, stacks_copy_stack, e) < 0)
		return -1;
	stacks_walk(r, 0, false);
	return r->stack->is_beyond ? stacks_stop(r, copy_and_walk, e) : 0;
}

/* ---- the results ---- */

static int
stacks_add_thread(struct stacks_reading *r, struct err *e)
{
	struct profile_sample sample = { .stack = 0 };
	const int64_t one = 1;
	struct stacks_thread *th = array_add(&r->stacks->threads);
	char comm[OS_COMM_BYTES];

	if (!th)
		return stacks_no_memory(e);
	os_thread_comm(r->process->target, r->tid, comm);
	if (stacks_add_walk(r->stacks->p, &r->stacks->marks, r->stack, &sample.stack, e) < 0 ||
		profile_thread(r->stacks->p, r->tid, comm, &sample.thread_1, e) < 0)
		return -1;
	*th = (struct stacks_thread){ r->tid, sample.stack, sample.thread_1,
		stacks_end_of(r->stack) };
	return profile_add_sample(r->stacks->p, sample, &one, e);
}

/* ---- all threads ---- */

static bool
stacks_is_known(const struct stacks *s, pid_t tid)
{
	for (size_t i = s->threads.nr; i-- > 0;)
		if (s->threads.v[i].tid == tid)
			return true;
	return false;
}

/*
 * Return whether not to wait for the thread.  One that waits for a disk cannot be stopped; after
 * one of them, others may be many, and are not waited for.
 */
static bool
is_hopeless(const struct stacks_reading *r)
{
	struct os_status s;
	struct err ignored;

	return r->is_late && os_status(r->process->target, r->tid, &s, &ignored) == 0 &&
		s.state == 'D';
}

/* Add a thread without frames, for the reason WHY. */
static int
add_late(struct stacks_reading *r, const struct err *why, struct err *e)
{
	if (!r->stacks->nr_late++)
		r->stacks->late = *why;
	r->is_late = true;
	r->stack->nr = 0;
	return stacks_add_thread(r, e);
}

/* Read the stack of one thread.  0 also if it has ended. */
static int
stacks_read_thread(struct stacks_reading *r, struct err *e)
{
	const struct target *t = r->process->target;
	struct err why = r->stacks->late;

	if (os_is_kernel_worker(t, r->tid))
		return 0; /* it never runs code of the program */
	if (is_hopeless(r))
		return add_late(r, &why, e);
	if (stacks_read_stack(r, &why) == 0)
		return stacks_add_thread(r, e);
	if (why.kind == ERR_NO_SAFE_POINT)
		return add_late(r, &why, e);
	if (why.kind == ERR_GONE && !r->options->nr_tids)
		return target_is_alive(t)
			? 0
			: err_set_kind(e, ERR_GONE, 0, "%d (%s) ended or ran another program",
				  t->pid, t->comm);
	*e = why;
	return -1;
}

static int
stacks_read_all(struct stacks_reading *r, struct err *e)
{
	size_t nr_before;
	int nr_lists = 0;

	do {
		auto_free pid_t *tids = NULL;
		size_t nr;

		nr_before = r->stacks->threads.nr;
		if (os_threads(r->process->target, SIZE_MAX, &tids, &nr, e) < 0)
			return -1;
		for (size_t i = 0; i < nr && !os_is_asked_to_end(); i++) {
			r->tid = tids[i];
			if (!stacks_is_known(r->stacks, r->tid) && stacks_read_thread(r, e) < 0)
				return -1;
		}
	} while (r->stacks->threads.nr > nr_before && ++nr_lists < MAX_LISTS &&
		!os_is_asked_to_end());
	return 0;
}

/* Return whether TID is a thread of T, and not of another process. */
static bool
has_thread(const struct target *t, pid_t tid)
{
	auto_free pid_t *tids = NULL;
	struct err ignored;
	bool found = false;
	size_t nr = 0;

	if (os_threads(t, SIZE_MAX, &tids, &nr, &ignored) < 0)
		return false;
	for (size_t i = 0; i < nr; i++)
		found |= tids[i] == tid;
	return found;
}

static int
stacks_read_some(struct stacks_reading *r, struct err *e)
{
	const struct target *t = r->process->target;

	for (size_t i = 0; i < r->options->nr_tids && !os_is_asked_to_end(); i++) {
		r->tid = r->options->tid[i];
		if (!has_thread(t, r->tid))
			return err_set_kind(e, ERR_GONE, 0, "%d (%s) has no thread %d", t->pid,
				t->comm, r->tid);
		if (!stacks_is_known(r->stacks, r->tid) && stacks_read_thread(r, e) < 0)
			return -1;
	}
	return 0;
}

/*
 * Fail if T has ended, or executed another program: what was read may be of either program, at the
 * addresses of one.
 */
static int
stacks_check_program(const struct target *t, struct err *e)
{
	struct err why;
	char byte;

	if (os_read_some(t, (raddr){ 0 }, &byte, sizeof byte, &why) >= 0 || why.kind != ERR_GONE)
		return 0;
	*e = why;
	return -1;
}

static void
read_in_tracer(void *arg)
{
	struct stacks_reading *r = arg;

	r->status = r->options->nr_tids ? stacks_read_some(r, r->e) : stacks_read_all(r, r->e);
	if (stacks_check_program(r->process->target, r->e) < 0)
		r->status = -1;
}

/* ---- the profile ---- */

/* Sort by stack; stacks have numbers in the order in which they were found. */
static int
by_stack(const void *a, const void *b)
{
	const struct stacks_thread *x = a, *y = b;

	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

static int
stacks_check_machine(const struct process *p, struct err *e)
{
	for (size_t i = 0; i < p->objects.nr; i++)
		if (p->objects.v[i].is_executable &&
			image_machine(p->objects.v[i].image) != arch_machine)
			return err_set_kind(e, ERR_UNSUPPORTED, 0,
				"%d (%s) is a program for another processor; "
				"memdiag can unwind %s programs only",
				p->target->pid, p->target->comm, arch_name);
	return 0;
}

static int
stacks_name_frames(const struct stacks_reading *r, struct err *e)
{
	struct stacks *s = r->stacks;
	const struct process *process = r->process;
	const struct symbols_options options = { .without_lines = r->options->without_lines };

	if (profile_add_mappings(s->p, process, e) < 0)
		return -1;
	profile_find_mappings(s->p);
	return live_files_name(s->p, process, &options, e);
}

/* Read all stacks into R, whose parts are set. */
static int
stacks_read_stacks(struct stacks_reading *r, struct err *e)
{
	struct stacks *s = r->stacks;

	if (profile_add_type(s->p, "threads", "count", e) < 0 ||
		os_trace(read_in_tracer, r, e) < 0 || r->status < 0)
		return -1;
	s->p->pid = r->process->target->pid;
	if (s->threads.nr)
		qsort(s->threads.v, s->threads.nr, sizeof *s->threads.v, by_stack);
	return stacks_name_frames(r, e);
}

int
stacks_read(struct stacks *s, const struct process *process, const struct stacks_options *o,
	struct err *e)
{
	auto_walker struct walker *walker = NULL;
	auto_free char *copy = malloc(COPY_BYTES);
	auto_free struct stack *stack = malloc(sizeof *stack);
	auto_free struct stacks_reading *r = malloc(sizeof *r);

	if (stacks_check_machine(process, e) < 0 ||
		walker_new(&walker, process->target, &process->objects, e) < 0)
		return -1;
	s->p = profile_new();
	if (!copy || !stack || !r || !s->p)
		return stacks_no_memory(e);
	r->stacks = s;
	r->process = process;
	r->options = o;
	r->walker = walker;
	r->is_late = false;
	r->copy = copy;
	r->stack = stack;
	r->e = e;
	return stacks_read_stacks(r, e);
}
