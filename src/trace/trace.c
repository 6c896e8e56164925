#include <config.h>

#include "trace/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/arch.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "os/clock.h"
#include "os/perf.h"
#include "os/tracefs.h"
#include "profile/wait.h"
#include "trace/pairs.h"
#include "trace/sums.h"

/* How long an event waits for being shown, at most. */
#define ROUND_NS UINT64_C(100000000)
/* Processes that are read at the same time: each has files open. */
#define MAX_OPEN 64
#define MAX_FILTER 160

/* ---- what the kernel is asked for ---- */

/* The kind of events of a source. */
struct source {
	enum trace_call call;
	bool is_return, is_small;
	size_t offset; /* in the record, of the first argument, or of the result */
};

/* Two entries and a return of each call, or two kinds of page faults. */
#define MAX_SOURCES (3 * TRACE_NR_CALLS)

struct sources {
	struct source v[MAX_SOURCES];
	struct perf_source perf[MAX_SOURCES];
	char filter[MAX_SOURCES][MAX_FILTER];
	size_t nr;
};

static int
add_source(struct sources *s, const struct tracefs *fs, struct source what,
	const struct trace_options *o, struct err *e)
{
	struct perf_source *perf = &s->perf[s->nr];
	const char *field = what.is_return ? "ret" : trace_first_field(what.call);
	char name[64];
	size_t bytes;

	snprintf(name, sizeof name, "syscalls/sys_%s_%s", what.is_return ? "exit" : "enter",
		trace_call_names[what.call]);
	*perf = (struct perf_source){ .kind = PERF_TRACEPOINT, .period = 1 };
	perf->has_stack = !what.is_return && !what.is_small;
	if (!what.is_return)
		perf->filter = trace_filter(what.call, o->min_bytes, what.is_small,
			s->filter[s->nr], sizeof s->filter[s->nr]);
	if (tracefs_id(fs, name, &perf->id, e) < 0 ||
		tracefs_field(fs, name, field, &what.offset, &bytes, e) < 0)
		return -1;
	if (bytes != sizeof(uint64_t))
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"the kernel's %s has a field '%s' of %zu bytes, not 8", name, field, bytes);
	s->v[s->nr++] = what;
	return 0;
}

static int
add_call(struct sources *s, const struct tracefs *fs, enum trace_call call,
	const struct trace_options *o, struct err *e)
{
	const struct source entry = { .call = call }, small = { .call = call, .is_small = true },
			    back = { .call = call, .is_return = true };

	if (add_source(s, fs, entry, o, e) < 0 || add_source(s, fs, back, o, e) < 0)
		return -1;
	return trace_has_small(call, o->min_bytes) ? add_source(s, fs, small, o, e) : 0;
}

static int
find_sources(struct sources *s, const struct trace_options *o, struct err *e)
{
	auto_tracefs struct tracefs fs = TRACEFS_NONE;

	if (o->faults) {
		s->perf[s->nr++] = (struct perf_source){
			.kind = PERF_MINOR_FAULTS, .period = o->period, .has_stack = true
		};
		s->perf[s->nr++] = (struct perf_source){
			.kind = PERF_MAJOR_FAULTS, .period = 1, .has_stack = true
		};
		return 0;
	}
	if (tracefs_open(&fs, o->may_mount, e) < 0)
		return -1;
	for (enum trace_call c = 0; c < TRACE_NR_CALLS; c++)
		if (o->call[c] && add_call(s, &fs, c, o, e) < 0)
			return -1;
	return 0;
}

/* ---- the processes that are followed ---- */

struct tracing {
	struct trace *trace;
	const struct trace_options *options;
	const struct target *target;
	struct sources sources;
	struct perf *perf;
	struct trace_pairs pairs;
	struct stack *stack;
	uint64_t begin_ns;
	bool is_enough; /* nobody reads what is shown, or memdiag was asked to end meanwhile */
	struct {
		struct trace_program **v; /* of processes that run: owned by the trace */
		size_t nr, room;
	} running;
	struct {
		struct trace_event *v; /* to be shown */
		size_t nr, room;
	} events;
};

static int
no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "cannot keep events");
}

static struct trace_program *
find_program(const struct tracing *t, pid_t pid)
{
	for (size_t i = 0; i < t->running.nr; i++)
		if (t->running.v[i]->pid == pid)
			return t->running.v[i];
	return NULL;
}

static struct trace_program *
add_program(struct tracing *t, pid_t pid, struct err *e)
{
	struct trace_program *p = trace_program_new(pid), **kept, **running;

	kept = p ? array_add(&t->trace->programs) : NULL;
	if (kept)
		*kept = p;
	else
		trace_program_free(p);
	running = kept ? array_add(&t->running) : NULL;
	if (!running) {
		(void)no_memory(e);
		return NULL;
	}
	p->is_unreadable = t->running.nr > MAX_OPEN;
	return *running = p;
}

/* The process of P has ended or executes another program: what is known of P is all. */
static int
end_program(struct tracing *t, struct trace_program *p, struct err *e)
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
enter(struct tracing *t, const struct perf_record *r, const struct source *s,
	struct trace_program *p, struct err *e)
{
	const size_t bytes = trace_nr_args(s->call) * sizeof(uint64_t);
	struct trace_pending pending = { .tid = r->tid,
		.program = p,
		.entry = { .call = s->call },
		.stack = TRACE_NO_STACK,
		.time_ns = r->time_ns };
	bool was_lost;

	if (s->offset + bytes > r->raw_bytes)
		return 0;
	memcpy(pending.entry.arg, (const char *)r->raw + s->offset, bytes);
	if (!s->is_small) {
		if (trace_program_stack(p, r, t->stack, &pending.stack, e) < 0)
			return -1;
		count_stack(t->trace, p, pending.stack);
	}
	if (trace_pairs_enter(&t->pairs, &pending, &was_lost) < 0)
		return no_memory(e);
	t->trace->nr_unpaired += was_lost;
	return 0;
}

/* Whether a call that has done EFFECT is one of those asked for. */
static bool
is_wanted(const struct tracing *t, const struct trace_pending *p, const struct trace_effect *effect)
{
	if (p->stack == TRACE_NO_STACK)
		return false;
	/* The size of these is known only now; brk(0) asks for the break. */
	if (p->entry.call == TRACE_BRK)
		return effect->bytes && effect->bytes >= t->options->min_bytes;
	if (p->entry.call == TRACE_SHMAT || p->entry.call == TRACE_SHMDT)
		return effect->bytes >= t->options->min_bytes;
	return true;
}

static int
add_event(struct tracing *t, const struct trace_pending *p, const struct trace_effect *effect,
	uint64_t result, struct err *e)
{
	const struct trace_options *o = t->options;
	struct trace_event *event;

	if (o->max_events && t->trace->nr_events == o->max_events)
		return 0; /* more than enough in one round */
	t->trace->nr_events++;
	if (!o->show)
		return 0;
	event = array_add(&t->events);
	if (!event)
		return no_memory(e);
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
		.error = trace_error(p->entry.call, result),
		.stack = p->stack };
	return 0;
}

static int
leave(struct tracing *t, const struct perf_record *r, const struct source *s,
	struct trace_program *p, struct err *e)
{
	struct trace_pending pending;
	struct trace_effect effect;
	uint64_t result;

	if (s->offset + sizeof result > r->raw_bytes)
		return 0;
	memcpy(&result, (const char *)r->raw + s->offset, sizeof result);
	/* Calls that the filter left out return, too. */
	if (!trace_pairs_leave(&t->pairs, r->tid, s->call, &pending) || pending.program != p)
		return 0;
	if (trace_account(p, &pending.entry, result, pending.stack, t->options->min_bytes, &effect,
		    e) < 0)
		return -1;
	return is_wanted(t, &pending, &effect) ? add_event(t, &pending, &effect, result, e) : 0;
}

static int
fault(struct tracing *t, const struct perf_record *r, struct trace_program *p, struct err *e)
{
	const bool is_major = t->sources.perf[r->source].kind == PERF_MAJOR_FAULTS;
	const uint64_t weight = t->sources.perf[r->source].period;
	uint32_t stack;

	if (trace_program_stack(p, r, t->stack, &stack, e) < 0)
		return -1;
	count_stack(t->trace, p, stack);
	t->trace->nr_events++;
	return trace_account_fault(p, r->address.v, stack, (uint32_t)weight, is_major, e);
}

static int
take_event(struct tracing *t, const struct perf_record *r, struct err *e)
{
	struct trace_program *p = find_program(t, r->pid);
	const struct source *s = &t->sources.v[r->source];

	if (!p)
		return 0;
	if (t->options->faults)
		return fault(t, r, p, e);
	return s->is_return ? leave(t, r, s, p, e) : enter(t, r, s, p, e);
}

/* A child goes on with the heap of its parent. */
static int
follow(struct tracing *t, const struct perf_record *r, struct err *e)
{
	const struct trace_program *parent = find_program(t, r->parent);
	struct trace_program *child;

	if (!t->options->follow_children || !parent || r->pid == r->parent)
		return 0;
	child = add_program(t, r->pid, e);
	if (!child)
		return -1;
	child->brk = parent->brk;
	return 0;
}

static int
execute(struct tracing *t, struct trace_program *p, struct err *e)
{
	const pid_t pid = p->pid;

	return end_program(t, p, e) < 0 || !add_program(t, pid, e) ? -1 : 0;
}

static int
end_thread(struct tracing *t, const struct perf_record *r, struct err *e)
{
	struct trace_program *p = find_program(t, r->pid);
	struct trace_pending ignored;

	(void)trace_pairs_leave(&t->pairs, r->tid, TRACE_NR_CALLS, &ignored);
	/* The leader may be the first to end, or the last. */
	return p && trace_program_has_ended(p, r->tid) ? end_program(t, p, e) : 0;
}

static int
take(struct tracing *t, const struct perf_record *r, struct err *e)
{
	struct trace_program *p;

	switch (r->type) {
	case PERF_EVENT:
		return take_event(t, r, e);
	case PERF_FORKED:
		return follow(t, r, e);
	case PERF_ENDED:
		return end_thread(t, r, e);
	case PERF_EXECUTED:
		p = find_program(t, r->pid);
		return p ? execute(t, p, e) : 0;
	case PERF_MAPPED:
		p = find_program(t, r->pid);
		if (p)
			trace_program_mapped(p, r->has_file);
		return 0;
	case PERF_LOST:
		return 0; /* perf counts them */
	}
	return 0;
}

/* ---- rounds ---- */

/* All that has come: sums first, then names, then to the user. */
static int
take_all(struct tracing *t, struct err *e)
{
	const struct trace_options *o = t->options;
	struct perf_record r;
	int status;

	while (perf_next(t->perf, &r))
		if (take(t, &r, e) < 0)
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
	return status < 0 ? -1 : 0;
}

static bool
is_over(struct tracing *t)
{
	const struct trace_options *o = t->options;
	const uint64_t passed_ns = os_now_ns() - t->begin_ns;
	const bool has_others = o->follow_children && t->running.nr > 0;
	const enum profile_wait wait = profile_wait(has_others ? NULL : t->target, 0);

	t->trace->duration_ns = passed_ns;
	if (t->is_enough)
		t->trace->why = TRACE_ASKED;
	else if (wait != PROFILE_WAIT_OVER)
		t->trace->why = wait == PROFILE_WAIT_ASKED ? TRACE_ASKED : TRACE_TARGET_ENDED;
	else if (o->max_events && t->trace->nr_events >= o->max_events)
		t->trace->why = TRACE_ENOUGH;
	else if (o->duration_ns && passed_ns >= o->duration_ns)
		t->trace->why = TRACE_TIME_OVER;
	else
		return false;
	return true;
}

static uint64_t
rss_of(const struct target *t)
{
	struct os_status s;
	struct err ignored;

	return os_status(t, t->mem_tid, &s, &ignored) == 0 ? s.vm_rss_bytes : 0;
}

/* Settle the processes that still run, and let them go. */
static int
finish(struct tracing *t, struct err *e)
{
	struct trace *trace = t->trace;
	struct err ignored;

	trace->nr_lost = perf_nr_lost(t->perf);
	if (trace->why != TRACE_TARGET_ENDED)
		trace->rss_after_bytes = rss_of(t->target);
	for (size_t i = 0; i < t->running.nr; i++) {
		struct trace_program *p = t->running.v[i];

		(void)trace_settle(p, &ignored); /* it ends just now: nothing is left */
		if (trace_program_close(p, e) < 0)
			return -1;
	}
	return 0;
}

static int
run(struct tracing *t, struct err *e)
{
	const struct trace_options *o = t->options;
	const struct perf_options perf = { .source = t->sources.perf,
		.nr_sources = t->sources.nr,
		.regs_mask = arch_sampled_regs,
		.stack_bytes = o->stack_bytes,
		.ring_bytes = o->ring_bytes };
	struct trace_program *p;

	if (perf_open(&t->perf, &perf, e) < 0)
		return -1;
	t->begin_ns = os_now_ns();
	t->trace->rss_before_bytes = rss_of(t->target);
	p = add_program(t, t->target->pid, e);
	if (!p)
		return -1;
	trace_program_open(p);
	if (p->is_open && trace_account_begin(p, e) < 0)
		return -1;
	if (o->begun)
		o->begun(o->arg);
	do {
		perf_wait(t->perf, ROUND_NS);
		if (take_all(t, e) < 0)
			return -1;
	} while (!is_over(t));
	perf_stop(t->perf);
	return take_all(t, e) < 0 ? -1 : finish(t, e);
}

int
trace_run(struct trace *trace, const struct target *target, const struct trace_options *o,
	struct err *e)
{
	auto_free struct tracing *t = calloc(1, sizeof *t);
	auto_free struct stack *stack = malloc(sizeof *stack);
	int status;

	if (!t || !stack)
		return no_memory(e);
	t->trace = trace;
	t->options = o;
	t->target = target;
	t->stack = stack;
	if (find_sources(&t->sources, o, e) < 0)
		return -1;
	profile_hold_signals();
	status = run(t, e);
	perf_free(t->perf);
	trace_pairs_release(&t->pairs);
	free(t->running.v);
	free(t->events.v);
	return status;
}

void
trace_release(struct trace *trace)
{
	for (size_t i = 0; i < trace->programs.nr; i++)
		trace_program_free(trace->programs.v[i]);
	free(trace->programs.v);
	*trace = (struct trace){ 0 };
}
