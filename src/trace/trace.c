#include <config.h>

#include "trace/trace.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/arch.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/debug.h"
#include "capture/wait.h"
#include "os/clock.h"
#include "os/machine.h"
#include "os/perf-filter.h"
#include "os/perf.h"
#include "os/ptrace.h"
#include "os/status.h"
#include "trace/pairs.h"
#include "trace/scope.h"
#include "trace/settle.h"
#include "trace/sources.h"
#include "trace/sums.h"

/* Longest time until an event is shown. */
#define ROUND_NS UINT64_C(100000000)
/*
 * A started program may end soon, and its stacks are walked only if it was read before: while it is
 * younger than YOUNG_NS its events do not wait.
 */
#define YOUNG_NS UINT64_C(1000000000)
#define YOUNG_ROUND_NS UINT64_C(1000000)
/*
 * The nice value is lowered by this while records are read.  When memdiag shared its processor with
 * two busy threads, it emptied the buffers too late: of 10,000 calls a second up to 5 % were lost,
 * and none with 3, 6 or 10.
 */
#define NICE_STEPS 5
/* Limit of processes open at the same time: each has files open. */
#define MAX_OPEN 64
/* Limit of threads listed for the kernel filter. */
#define MAX_THREADS 65536

/* ---- followed processes ---- */

struct trace_tracing {
	struct trace *trace;
	const struct trace_options *options;
	struct target *target;
	struct trace_sources sources;
	struct trace_scope scope;
	struct perf *perf;
	struct trace_pairs pairs;
	struct stack *stack;
	uint64_t begin_ns;
	unsigned int nr_rounds; /* since the filters were set: perf_narrow() */
	void *files;		/* names, from tsearch(3) */
	bool awaits_program;	/* the process does not run the program to trace yet */
	bool is_enough; /* the reader has closed the pipe, or memdiag was asked to end meanwhile */
	struct {
		struct trace_program **v; /* of running processes: owned by the trace */
		size_t nr, room;
	} running;
	struct {
		struct trace_event *v; /* not yet shown */
		size_t nr, room;
	} events;
};

static int
trace_no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "cannot keep events");
}

static struct trace_program *
find_program(const struct trace_tracing *t, pid_t pid)
{
	for (size_t i = 0; i < t->running.nr; i++)
		if (t->running.v[i]->pid == pid)
			return t->running.v[i];
	return NULL;
}

static struct trace_program *
add_program(struct trace_tracing *t, pid_t pid, struct err *e)
{
	struct trace_program *p = trace_program_new(pid), **kept, **running;

	kept = p ? array_add(&t->trace->programs) : NULL;
	if (kept)
		*kept = p;
	else
		trace_program_free(p);
	running = kept ? array_add(&t->running) : NULL;
	if (!running) {
		(void)trace_no_memory(e);
		return NULL;
	}
	p->is_unreadable = t->running.nr > MAX_OPEN;
	return *running = p;
}

/*
 * Finish P, whose process has ended or executes another program: nothing more will be known of it.
 */
static int
end_program(struct trace_tracing *t, struct trace_program *p, struct err *e)
{
	p->is_over = true;
	for (size_t i = 0; i < t->running.nr; i++)
		if (t->running.v[i] == p)
			t->running.v[i] = t->running.v[--t->running.nr];
	return trace_program_close(p, e);
}

/* ---- records ---- */

static void
count_stack(struct trace *trace, const struct trace_program *p, uint32_t stack)
{
	const enum stacks_end end = p->stacks.v[stack].end;

	trace->nr_cut += end == STACKS_CUT;
	trace->nr_broken += end == STACKS_BROKEN;
	trace->nr_unknown += end == STACKS_MISSING;
}

static int
trace_enter(struct trace_tracing *t, const struct perf_record *r, const struct trace_source *s,
	struct trace_program *p, struct err *e)
{
	const size_t bytes = trace_nr_args(s->call) * sizeof(uint64_t);
	struct trace_pending pending = { .tid = r->tid,
		.generation = r->generation,
		.program = p,
		.entry = { .call = s->call },
		.stack = TRACE_NO_STACK,
		.time_ns = r->time_ns };
	bool was_lost;

	if (s->offset + bytes > r->raw_bytes)
		return 0;
	memcpy(pending.entry.arg, (const char *)r->raw + s->offset, bytes);
	if (trace_pairs_has(&t->pairs, &pending))
		return 0; /* already reported by the events that these replace */
	if (!s->is_small) {
		if (trace_program_stack(p, r, t->stack, &pending.stack, e) < 0)
			return -1;
		count_stack(t->trace, p, pending.stack);
	}
	if (trace_pairs_enter(&t->pairs, &pending, &was_lost) < 0)
		return trace_no_memory(e);
	t->trace->nr_unpaired += was_lost;
	return 0;
}

/* True if a call with the effect EFFECT was requested. */
static bool
trace_is_wanted(const struct trace_tracing *t, const struct trace_pending *p,
	const struct trace_effect *effect)
{
	if (p->stack == TRACE_NO_STACK)
		return false;
	/* The sizes of these calls are known only now; brk(0) asks for the break. */
	if (p->entry.call == TRACE_BRK)
		return effect->bytes && effect->bytes >= t->options->min_bytes;
	if (p->entry.call == TRACE_SHMAT || p->entry.call == TRACE_SHMDT)
		return effect->bytes >= t->options->min_bytes;
	return true;
}

static int
trace_add_event(struct trace_tracing *t, const struct trace_pending *p,
	const struct trace_effect *effect, uint64_t result, struct err *e)
{
	const struct trace_options *o = t->options;
	struct trace_event *event;

	t->trace->nr_events++;
	if (!o->show)
		return 0;
	event = array_add(&t->events);
	if (!event)
		return trace_no_memory(e);
	*event = (struct trace_event){ .program = p->program,
		.tid = p->tid,
		.time_ns = p->time_ns > t->begin_ns ? p->time_ns - t->begin_ns : 0,
		.call = p->entry.call,
		.address = effect->address,
		.bytes = effect->bytes,
		.is_reserve = p->entry.call == TRACE_MMAP && p->entry.arg[2] == PROT_NONE,
		.gives_back = p->entry.call == TRACE_MUNMAP || p->entry.call == TRACE_MADVISE ||
			p->entry.call == TRACE_SHMDT ||
			(p->entry.call == TRACE_BRK &&
				effect->unmapped.end > effect->unmapped.start),
		.is_size_unknown = effect->is_size_unknown,
		.entry = p->entry,
		.result = result,
		.file = p->file,
		.error = trace_error(p->entry.call, result),
		.stack = p->stack };
	return 0;
}

/* One round may bring more events than requested. */
static bool
has_all_events(const struct trace_tracing *t)
{
	return t->options->max_events && t->trace->nr_events >= t->options->max_events;
}

static int
trace_leave(struct trace_tracing *t, const struct perf_record *r, const struct trace_source *s,
	struct trace_program *p, struct err *e)
{
	struct trace_pending pending;
	struct trace_effect effect;
	uint64_t result;

	if (s->offset + sizeof result > r->raw_bytes)
		return 0;
	memcpy(&result, (const char *)r->raw + s->offset, sizeof result);
	/* Calls excluded by the filter return, too. */
	if (!trace_pairs_leave(&t->pairs, r->tid, s->call, &pending) || pending.program != p)
		return 0;
	/* The other calls may still remove memory of the requested ones. */
	if (has_all_events(t))
		pending.stack = TRACE_NO_STACK;
	if (trace_account(p, &pending.entry, result, pending.stack, t->options->min_bytes, &effect,
		    e) < 0)
		return -1;
	return trace_is_wanted(t, &pending, &effect)
		? trace_add_event(t, &pending, &effect, result, e)
		: 0;
}

static int
fault(struct trace_tracing *t, const struct perf_record *r, struct trace_program *p, struct err *e)
{
	const bool is_major = t->sources.perf[r->source].kind == PERF_MAJOR_FAULTS;
	const uint64_t weight = t->sources.perf[r->source].period;
	uint32_t stack;

	if (has_all_events(t))
		return 0;
	if (trace_program_stack(p, r, t->stack, &stack, e) < 0)
		return -1;
	count_stack(t->trace, p, stack);
	t->trace->nr_events++;
	return trace_account_fault(p, r->address.v, stack, (uint32_t)weight, is_major, e);
}

static int
trace_take_event(struct trace_tracing *t, const struct perf_record *r, struct err *e)
{
	struct trace_program *p = find_program(t, r->pid);
	const struct trace_source *s = &t->sources.v[r->source];

	if (p && t->awaits_program)
		return 0;
	if (!p) {
		t->scope.nr_others++;
		return 0;
	}
	if (t->options->faults)
		return fault(t, r, p, e);
	return s->is_return ? trace_leave(t, r, s, p, e) : trace_enter(t, r, s, p, e);
}

/* Follow a fork: a child keeps the heap of its parent. */
static int
trace_follow(struct trace_tracing *t, const struct perf_record *r, struct err *e)
{
	struct trace_program *parent = find_program(t, r->parent);
	struct trace_program *child = find_program(t, r->pid);

	if (parent && r->time_ns > t->scope.set_ns && !trace_scope_has(&t->scope, r->tid)) {
		/*
		 * End the scope: the kernel numbered a new thread out of sequence, and does not
		 * report its events.
		 */
		t->trace->nr_lost_threads++;
		t->scope.is_wrong = true;
	}
	if (r->pid == r->parent)
		return 0;
	if (child && end_program(t, child, e) < 0) /* the number is reused */
		return -1;
	if (!t->options->follow_children || !parent)
		return 0;
	child = add_program(t, r->pid, e);
	if (!child)
		return -1;
	child->brk = parent->brk;
	trace_program_inherit(child, parent);
	return 0;
}

static int
execute(struct trace_tracing *t, struct trace_program *p, struct err *e)
{
	const pid_t pid = p->pid;

	if (end_program(t, p, e) < 0)
		return -1;
	if (t->awaits_program) {
		/* P was memdiag before it executed the program, and the only one. */
		t->awaits_program = false;
		trace_program_free(p);
		t->trace->programs.nr = 0;
	}
	return add_program(t, pid, e) ? 0 : -1;
}

/*
 * Record the end of a thread.  Records of other threads may follow that of any thread, even the
 * leader: end_ended().
 */
static void
trace_end_thread(struct trace_tracing *t, const struct perf_record *r)
{
	struct trace_program *p = find_program(t, r->pid);
	struct trace_pending ignored;

	(void)trace_pairs_leave(&t->pairs, r->tid, TRACE_NR_CALLS, &ignored);
	if (p && r->tid == p->pid)
		p->has_no_leader = true;
}

static int
trace_by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Return NAME with the lifetime of the trace; NULL without memory. */
static const char *
keep_name(struct trace_tracing *t, const char *name)
{
	char *const *found = tfind(name, &t->files, trace_by_name), *copy;

	if (found)
		return *found;
	copy = strdup(name);
	if (copy && !tsearch(copy, &t->files, trace_by_name)) {
		free(copy);
		return NULL;
	}
	return copy;
}

/* Record a mapping, which the kernel reports while its thread is still in the call. */
static int
trace_map(struct trace_tracing *t, const struct perf_record *r, struct err *e)
{
	struct trace_program *p = find_program(t, r->pid);
	struct trace_pending *call = p && t->options->has_files && r->has_file
		? trace_pairs_find(&t->pairs, r->tid)
		: NULL;

	if (p && r->is_executable)
		trace_program_mapped(p, r->start, r->has_file);
	if (!call || (call->entry.call != TRACE_MMAP && call->entry.call != TRACE_SHMAT))
		return 0;
	if (call->entry.call == TRACE_SHMAT)
		call->entry.mapped_bytes = r->end.v - r->start.v;
	call->file = keep_name(t, r->name);
	return call->file ? 0 : trace_no_memory(e);
}

static int
trace_lose(struct trace_tracing *t, const struct perf_record *r, struct err *e)
{
	struct trace_event *event;

	if (!t->options->show)
		return 0;
	/* Merge losses without a call between them. */
	if (t->events.nr && t->events.v[t->events.nr - 1].nr_lost) {
		t->events.v[t->events.nr - 1].nr_lost += r->nr_lost;
		return 0;
	}
	event = array_add(&t->events);
	if (!event)
		return trace_no_memory(e);
	*event = (struct trace_event){ .nr_lost = r->nr_lost,
		.time_ns = r->time_ns > t->begin_ns ? r->time_ns - t->begin_ns : 0 };
	return 0;
}

static int
trace_take(struct trace_tracing *t, const struct perf_record *r, struct err *e)
{
	struct trace_program *p;

	switch (r->type) {
	case PERF_EVENT:
		return trace_take_event(t, r, e);
	case PERF_FORKED:
		return trace_follow(t, r, e);
	case PERF_ENDED:
		trace_end_thread(t, r);
		return 0;
	case PERF_EXECUTED:
		p = find_program(t, r->pid);
		return p ? execute(t, p, e) : 0;
	case PERF_MAPPED:
		return trace_map(t, r, e);
	case PERF_LOST:
		return trace_lose(t, r, e); /* counted by perf */
	}
	return 0;
}

/* ---- reported threads ---- */

struct trace_tids {
	pid_t *v;
	size_t nr, room;
};

/* Add the threads of TARGET to TIDS.  Return -1 if they cannot be listed now. */
static int
trace_add_threads(struct trace_tids *tids, const struct target *target)
{
	auto_free pid_t *listed = NULL;
	struct err ignored;
	size_t nr;

	if (os_threads(target, MAX_THREADS, &listed, &nr, &ignored) < 0 || nr == MAX_THREADS ||
		array_reserve(tids, tids->nr + nr) < 0)
		return -1;
	memcpy(tids->v + tids->nr, listed, nr * sizeof *listed);
	tids->nr += nr;
	return 0;
}

/* List the threads of all programs, or of the target before the first program is known. */
static int
list_threads(const struct trace_tracing *t, struct trace_tids *tids)
{
	tids->nr = 0;
	if (!t->running.nr)
		return trace_add_threads(tids, t->target);
	for (size_t i = 0; i < t->running.nr; i++) {
		const struct trace_program *p = t->running.v[i];

		if (!p->is_over && (!p->is_open || trace_add_threads(tids, &p->target) < 0))
			return -1;
	}
	return tids->nr ? 0 : -1;
}

/*
 * List the threads until two lists are equal: a list read in several parts may lack threads if
 * others end meanwhile.
 */
static int
list_threads_surely(const struct trace_tracing *t, struct trace_tids *ret)
{
	struct trace_tids before = { 0 };
	int status = list_threads(t, &before);

	for (int i = 0; status == 0 && i < 8; i++) {
		status = list_threads(t, ret);
		if (status < 0 ||
			(ret->nr == before.nr &&
				memcmp(ret->v, before.v, ret->nr * sizeof *ret->v) == 0))
			break;
		if (i == 7 || array_reserve(&before, ret->nr) < 0)
			status = -1;
		else
			memcpy(before.v, ret->v, (before.nr = ret->nr) * sizeof *ret->v);
	}
	free(before.v);
	return status;
}

/* Set the filters of all sources for the existing threads. */
static void
set_scope(struct trace_tracing *t, struct trace_scope *scope)
{
	struct trace_tids tids = { 0 };

	if (list_threads_surely(t, &tids) == 0)
		trace_scope_set(scope, tids.v, tids.nr, os_now_ns());
	else
		trace_scope_let_all(scope, os_now_ns());
	free(tids.v);
	trace_sources_set(&t->sources, scope);
}

/* Reduce the reports on other processes to the minimum, when worthwhile. */
static void
narrow(struct trace_tracing *t)
{
	struct trace_scope scope;
	bool must;
	struct err e;

	trace_scope_look(&t->scope, os_now_ns());
	if (t->nr_rounds++ < 2 || !trace_scope_is_due(&t->scope, os_now_ns(), &must))
		return;
	scope = t->scope;
	set_scope(t, &scope);
	t->nr_rounds = 0;
	debug("trace: %zu ranges of threads pass", scope.nr);
	if (perf_filter_again(t->perf, &e) == 0) {
		t->scope = scope;
		return;
	}
	debug("trace: %s", e.msg);
	t->scope.set_ns = scope.set_ns;
	t->trace->nr_lost_threads += must;
}

/* Begin the scope.  Page faults have no filters, so they are reported for all processes. */
static void
begin_scope(struct trace_tracing *t)
{
	if (!t->options->faults)
		trace_scope_begin(&t->scope);
	if (t->scope.end)
		set_scope(t, &t->scope);
	else
		trace_sources_set(&t->sources, &t->scope);
}

/* ---- rounds ---- */

/*
 * Release ended processes.  Their last records arrive within the next two rounds: each round
 * delivers everything written before the previous round (perf_wait()).
 */
static int
end_ended(struct trace_tracing *t, struct err *e)
{
	for (size_t i = t->running.nr; i-- > 0;) {
		struct trace_program *p = t->running.v[i];

		if (trace_program_has_ended(p) && p->nr_rounds_over++ == 2 &&
			end_program(t, p, e) < 0)
			return -1;
	}
	return 0;
}

/* Process all new records: first sums, then names, then output. */
static int
take_all(struct trace_tracing *t, struct err *e)
{
	const struct trace_options *o = t->options;
	struct perf_record r;
	int status;

	while (perf_next(t->perf, &r))
		if (trace_take(t, &r, e) < 0)
			return -1;
	for (size_t i = 0; i < t->running.nr; i++)
		if (trace_program_name(t->running.v[i], e) < 0)
			return -1;
	for (size_t i = 0; i < t->events.nr; i++)
		if (o->show(&t->events.v[i], o->arg, e) < 0)
			return -1;
	t->events.nr = 0;
	status = o->flush ? o->flush(o->arg, e) : 0;
	t->is_enough |= status > 0;
	return status < 0 ? -1 : end_ended(t, e);
}

static bool
trace_is_over(struct trace_tracing *t)
{
	const struct trace_options *o = t->options;
	const uint64_t passed_ns = os_now_ns() - t->begin_ns;
	const bool has_others = o->follow_children && t->running.nr > 0;
	const enum capture_wait wait = capture_wait(has_others ? NULL : t->target, 0);

	t->trace->duration_ns = passed_ns;
	if (t->is_enough)
		t->trace->why = TRACE_ASKED;
	else if (wait != CAPTURE_WAIT_OVER)
		t->trace->why = wait == CAPTURE_WAIT_ASKED ? TRACE_ASKED : TRACE_TARGET_ENDED;
	else if (o->max_events && t->trace->nr_events >= o->max_events)
		t->trace->why = TRACE_ENOUGH;
	else if (o->duration_ns && passed_ns >= o->duration_ns)
		t->trace->why = TRACE_TIME_OVER;
	else
		return false;
	return true;
}

static uint64_t
trace_rss_of(const struct target *t)
{
	struct os_status s;
	struct err ignored;

	return os_status(t, t->mem_tid, &s, &ignored) == 0 ? s.vm_rss_bytes : 0;
}

/* Settle the running processes, and release them. */
static int
trace_finish(struct trace_tracing *t, struct err *e)
{
	struct trace *trace = t->trace;
	struct err ignored;

	trace->nr_lost = perf_nr_lost(t->perf);
	if (trace->why != TRACE_TARGET_ENDED)
		trace->rss_after_bytes = trace_rss_of(t->target);
	for (size_t i = 0; i < t->running.nr; i++) {
		struct trace_program *p = t->running.v[i];

		p->is_over = trace_program_has_ended(p);
		(void)trace_settle(p, &ignored); /* it is just ending: nothing remains */
		if (trace_program_close(p, e) < 0)
			return -1;
	}
	return 0;
}

static uint64_t
round_ns(const struct trace_tracing *t)
{
	return t->options->starts_program && os_now_ns() - t->begin_ns < YOUNG_NS ? YOUNG_ROUND_NS
										  : ROUND_NS;
}

static int
trace_run_all(struct trace_tracing *t, struct err *e)
{
	const struct trace_options *o = t->options;
	const struct perf_options perf = { .source = t->sources.perf,
		.nr_sources = t->sources.nr,
		.regs_mask = arch_sampled_regs,
		.stack_bytes = o->stack_bytes,
		.has_data = o->has_files,
		.ring_bytes = o->ring_bytes };
	struct trace_program *p;

	begin_scope(t);
	if (perf_open(&t->perf, &perf, e) < 0)
		return -1;
	t->begin_ns = os_now_ns();
	p = add_program(t, t->target->pid, e);
	if (!p)
		return -1;
	t->awaits_program = o->starts_program;
	if (!o->starts_program) {
		t->trace->rss_before_bytes = trace_rss_of(t->target);
		trace_program_open(p);
		if (p->is_open && trace_account_begin(p, e) < 0)
			return -1;
	}
	if (o->begun && o->begun(o->arg, e) < 0)
		return -1;
	do {
		perf_wait(t->perf, round_ns(t));
		if (take_all(t, e) < 0)
			return -1;
		narrow(t);
	} while (!trace_is_over(t));
	perf_stop(t->perf);
	return take_all(t, e) < 0 ? -1 : trace_finish(t, e);
}

int
trace_run(struct trace *trace, struct target *target, const struct trace_options *o, struct err *e)
{
	auto_free struct trace_tracing *t = calloc(1, sizeof *t);
	auto_free struct stack *stack = malloc(sizeof *stack);
	int status, nice;

	if (!t || !stack)
		return trace_no_memory(e);
	t->trace = trace;
	t->options = o;
	t->target = target;
	t->stack = stack;
	if (trace_sources_find(&t->sources, o, e) < 0)
		return -1;
	capture_hold_signals();
	nice = os_raise_priority(NICE_STEPS);
	status = trace_run_all(t, e);
	os_set_nice(nice);
	perf_free(t->perf);
	trace_pairs_release(&t->pairs);
	tdestroy(t->files, free);
	free(t->running.v);
	free(t->events.v);
	return status;
}

void
trace_release(struct trace *trace)
{
	/* Go backwards: a child comes after its origin. */
	for (size_t i = trace->programs.nr; i-- > 0;)
		trace_program_free(trace->programs.v[i]);
	free(trace->programs.v);
	*trace = (struct trace){ 0 };
}
