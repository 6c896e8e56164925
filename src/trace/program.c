#include <config.h>

#include "trace/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/debug.h"
#include "elf/image.h"
#include "os/clock.h"
#include "os/memory.h"
#include "profile/collect.h"
#include "trace/mallocs.h"

/*
 * Compilers of code map memory all the time, and reading 100,000 mappings takes a while: what such
 * code asks for costs at most this share of our time.
 */
#define REREAD_SHARE 50

static int
no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "cannot keep stacks");
}

struct trace_program *
trace_program_new(pid_t pid)
{
	struct trace_program *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->pid = pid;
	p->target = (struct target)TARGET_NONE;
	p->profile = profile_new();
	if (!p->profile) {
		free(p);
		return NULL;
	}
	p->profile->pid = pid;
	return p;
}

/* ---- reading the process ---- */

/* Whether A and B are the same list; images that were known are shared. */
static bool
are_same_objects(const struct objects *a, const struct objects *b)
{
	for (size_t i = 0; i < a->nr && i < b->nr; i++)
		if (a->v[i].image != b->v[i].image || a->v[i].start.v != b->v[i].start.v)
			return false;
	return a->nr == b->nr && a->vdso.v == b->vdso.v;
}

/* A walker knows the rules of what it has walked through: it stays while its objects do. */
static int
renew_walker(struct trace_program *p, bool is_same, struct err *e)
{
	if (p->walker && is_same)
		return 0;
	walker_free(p->walker);
	p->walker = NULL;
	return walker_new(&p->walker, &p->target, &p->process.objects, e);
}

/*
 * The list of mappings is that of the program that runs now, whose records may not have come yet.
 * The file of the memory stays with the program for which it was opened.
 */
static int
check_still_runs(const struct trace_program *p, struct err *e)
{
	char byte;

	return os_read_some(&p->target, (raddr){ 0 }, &byte, sizeof byte, e) < 0 ? -1 : 0;
}

int
trace_program_read(struct trace_program *p, struct err *e)
{
	const uint64_t begin_ns = os_now_ns();
	struct process fresh;
	bool is_same;

	(void)target_renew(&p->target);
	if (process_read_with(&fresh, &p->target, p->walker ? &p->process : NULL, NULL, e) < 0)
		return -1;
	if (check_still_runs(p, e) < 0) {
		process_release(&fresh);
		return -1;
	}
	is_same = are_same_objects(&p->process.objects, &fresh.objects);
	process_release(&p->process);
	p->process = fresh;
	p->live.process = &p->process;
	p->is_stale = p->has_new_code = false;
	p->read_ns = os_now_ns();
	p->reading_ns = p->read_ns - begin_ns;
	if (renew_walker(p, is_same, e) < 0)
		return -1;
	return profile_add_mappings(p->profile, &p->process, e);
}

static bool
is_for_us(const struct process *process)
{
	for (size_t i = 0; i < process->objects.nr; i++)
		if (process->objects.v[i].is_executable)
			return image_machine(process->objects.v[i].image) == arch_machine;
	return true;
}

static int
read_program(struct trace_program *p, struct err *e)
{
	const struct symbols_files files = { live_files_mapped, live_files_perf_map, &p->live };

	if (target_open(&p->target, p->pid, e) < 0)
		return -1;
	memcpy(p->comm, p->target.comm, sizeof p->comm);
	if (trace_program_read(p, e) < 0)
		return -1;
	if (!is_for_us(&p->process))
		return err_set_kind(e, ERR_UNSUPPORTED, 0, "it is a program for another processor");
	p->files = files;
	return symbols_open(
		&p->symbols, p->profile, &(struct symbols_options){ .files = &p->files }, e);
}

static void
release_process(struct trace_program *p)
{
	symbols_close(p->symbols);
	p->symbols = NULL;
	walker_free(p->walker);
	p->walker = NULL;
	process_release(&p->process);
	p->process = (struct process){ .target = NULL };
	target_release(&p->target);
	p->target = (struct target)TARGET_NONE;
	p->is_open = false;
}

void
trace_program_open(struct trace_program *p)
{
	struct err e;

	if (p->is_open || p->is_unreadable || p->is_over)
		return;
	if (read_program(p, &e) == 0) {
		p->is_open = true;
		return;
	}
	debug("cannot read %d: %s", (int)p->pid, e.msg);
	p->is_unreadable = true;
	release_process(p);
}

int
trace_program_close(struct trace_program *p, struct err *e)
{
	int status = 0;

	if (p->is_open)
		status = trace_program_name(p, e);
	release_process(p);
	ledger_release(&p->ledger);
	return status;
}

void
trace_program_free(struct trace_program *p)
{
	if (!p)
		return;
	release_process(p);
	ledger_release(&p->ledger);
	profile_free(p->profile);
	free(p->stacks.v);
	free(p->marks.v);
	free(p->segments.v);
	free(p->touches.v);
	free(p->classes.v);
	free(p);
}

bool
trace_program_has_ended(const struct trace_program *p)
{
	return p->is_open ? !target_is_alive(&p->target) : p->has_no_leader;
}

void
trace_program_mapped(struct trace_program *p, bool has_file)
{
	p->is_stale |= has_file;
	p->has_new_code |= !has_file;
}

/* Read again what is mapped, if that may matter for a stack. */
static void
refresh(struct trace_program *p)
{
	const bool is_due =
		p->has_new_code && os_now_ns() - p->read_ns > p->reading_ns * REREAD_SHARE;
	struct err e;

	if (!p->is_stale && !is_due)
		return;
	/* Where it has ended or executes another program, what was read before is right. */
	if (trace_program_read(p, &e) < 0)
		p->is_stale = p->has_new_code = false;
}

/* ---- stacks ---- */

static void
walk(struct trace_program *p, const struct perf_record *r, struct stack *ret)
{
	struct arch_regs regs;
	struct stack_source source = { .is_past = true };

	ret->nr = 0;
	ret->is_complete = ret->is_cut = false;
	if (!p->walker || !r->regs)
		return;
	arch_from_sample(&regs, r->regs);
	source.regs = regs.word;
	source.sp = arch_sp(&regs);
	source.copy = r->stack;
	source.copy_bytes = r->stack_bytes;
	source.maps = &p->process.maps;
	stack_walk_far(p->walker, &source, ret);
}

int
trace_program_stack(struct trace_program *p, const struct perf_record *r, struct stack *room,
	uint32_t *ret, struct err *e)
{
	trace_program_open(p);
	if (p->is_open)
		refresh(p);
	walk(p, r, room);
	if (stacks_add_walked(p->profile, &p->marks, room, ret, e) < 0)
		return -1;
	while (p->stacks.nr <= *ret) {
		struct trace_stack *added = array_add(&p->stacks);

		if (!added)
			return no_memory(e);
		added->end = stacks_end_of(room);
	}
	return 0;
}

/* ---- names ---- */

int
trace_program_name(struct trace_program *p, struct err *e)
{
	if (!p->is_open)
		return 0;
	profile_find_mappings(p->profile);
	if (symbols_update(p->symbols, e) < 0)
		return -1;
	for (; p->nr_named < p->stacks.nr; p->nr_named++) {
		struct trace_stack *s = &p->stacks.v[p->nr_named];
		const uint32_t stack = (uint32_t)p->nr_named;

		s->nr_inner = trace_nr_mallocs(p->profile, stack);
		s->is_mallocs = s->nr_inner > 0;
		if (!s->is_mallocs)
			s->nr_inner = trace_begins_with_wrapper(p->profile, stack);
	}
	return 0;
}
