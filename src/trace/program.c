#include <config.h>

#include "trace/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agentdata/collect.h"
#include "arch/arch.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/debug.h"
#include "elf/image.h"
#include "elf/objects.h"
#include "os/clock.h"
#include "os/memory.h"
#include "os/ptrace.h"
#include "os/status.h"
#include "os/target.h"
#include "trace/mallocs.h"

/*
 * Compilers of code map memory frequently, and reading 100,000 mappings takes a while: rereading
 * for such code may take at most this share of memdiag's time.
 */
#define REREAD_SHARE 50

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

/* True if A and B are the same list; known images are shared. */
static bool
are_same_objects(const struct objects *a, const struct objects *b)
{
	for (size_t i = 0; i < a->nr && i < b->nr; i++)
		if (a->v[i].image != b->v[i].image || a->v[i].start.v != b->v[i].start.v)
			return false;
	return a->nr == b->nr && a->vdso.v == b->vdso.v;
}

/*
 * Check that the list of mappings belongs to P and not to a program executed since, whose records
 * may be pending.  The memory file stays bound to the program for which it was opened.
 */
static int
check_still_runs(const struct trace_program *p, struct err *e)
{
	char byte;

	return os_read_some(&p->target, (raddr){ 0 }, &byte, sizeof byte, e) < 0 ? -1 : 0;
}

static int
program_read_process(struct trace_program *p, struct err *e)
{
	const uint64_t begin_ns = os_now_ns();
	struct process fresh;
	bool is_same;

	(void)target_renew(&p->target);
	if (process_read_with(&fresh, &p->target,
		    &(struct process_sources){ .known = p->walker ? &p->process : NULL }, e) < 0)
		return -1;
	if (check_still_runs(p, e) < 0) {
		process_release(&fresh);
		return -1;
	}
	is_same = are_same_objects(&p->process.objects, &fresh.objects);
	/*
	 * A walker keeps the rules of code it has walked through.  Keep it until the objects
	 * change: its table has an entry for each.
	 */
	if (!is_same) {
		walker_free(p->walker);
		p->walker = NULL;
	}
	process_release(&p->process);
	p->process = fresh;
	p->live.process = &p->process;
	p->is_stale = p->has_new_code = false;
	p->read_ns = os_now_ns();
	p->reading_ns = p->read_ns - begin_ns;
	return p->walker ? 0 : walker_new(&p->walker, &p->target, &p->process.objects, e);
}

int
trace_program_read(struct trace_program *p, struct err *e)
{
	return program_read_process(p, e) < 0 ? -1
					      : profile_add_mappings(p->profile, &p->process, e);
}

static bool
is_for_us(const struct process *process)
{
	for (size_t i = 0; i < process->objects.nr; i++)
		if (process->objects.v[i].is_executable)
			return image_machine(process->objects.v[i].image) == arch_machine;
	return true;
}

static const struct object *
executable_of(const struct process *process)
{
	for (size_t i = 0; i < process->objects.nr; i++)
		if (process->objects.v[i].is_executable)
			return &process->objects.v[i];
	return NULL;
}

/*
 * True if the process still runs its parent's program: a child has it at the same addresses until
 * it executes another one.
 */
static bool
is_program_of(const struct process *process, const struct process *parent)
{
	const struct object *own = executable_of(process), *its = executable_of(parent);

	return process->objects.vdso.v == parent->objects.vdso.v && !own == !its &&
		(!own ||
			(own->start.v == its->start.v && own->inode == its->inode &&
				own->dev == its->dev));
}

/*
 * Check that /proc still shows the program of the records, which arrive up to 100 ms after the
 * events: the process may have executed another program since.
 */
static int
check_is_it(const struct trace_program *p, struct err *e)
{
	const struct region *code =
		p->first_code.v ? regions_find(&p->process.maps, p->first_code) : NULL;

	if ((!p->origin || is_program_of(&p->process, &p->origin->process)) &&
		(!p->first_code.v || (code && code->prot[2] == 'x')))
		return 0;
	return err_set_kind(e, ERR_GONE, 0, "it executes another program by now");
}

static int
open_symbols(struct trace_program *p, struct live_files *live, struct err *e)
{
	p->files = (struct symbols_files){ live_files_mapped, live_files_perf_map, live };
	return symbols_open(
		&p->symbols, p->profile, &(struct symbols_options){ .files = &p->files }, e);
}

static int
program_read_program(struct trace_program *p, struct err *e)
{
	struct os_stat stat;
	struct err ignored;

	if (target_open(&p->target, p->pid, e) < 0)
		return -1;
	if (program_read_process(p, e) < 0 || check_is_it(p, e) < 0)
		return -1;
	memcpy(p->comm, p->target.comm, sizeof p->comm);
	if (!is_for_us(&p->process))
		return err_set_kind(e, ERR_UNSUPPORTED, 0, "it is a program for another processor");
	if (os_stat(&p->target, &stat, &ignored) == 0)
		p->first_sp = stat.start_stack;
	if (profile_add_mappings(p->profile, &p->process, e) < 0)
		return -1;
	return open_symbols(p, &p->live, e);
}

/* Close the program's files, unless another program needs them, which then closes them. */
static void
release_process(struct trace_program *p)
{
	if (p->nr_heirs)
		return;
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
trace_program_inherit(struct trace_program *p, struct trace_program *parent)
{
	p->origin = parent->is_open ? parent : parent->origin;
	if (!p->origin)
		return;
	p->origin->nr_heirs++;
	memcpy(p->comm, p->origin->comm, sizeof p->comm);
}

static void
leave_origin(struct trace_program *p)
{
	struct trace_program *origin = p->origin;

	p->origin = NULL;
	p->is_late = false;
	if (origin && --origin->nr_heirs == 0 && origin->is_over)
		release_process(origin);
}

/* Walk and name the stacks of P as those of the program it was forked from. */
static bool
become_late(struct trace_program *p)
{
	struct err e;

	if (!p->origin || profile_add_mappings(p->profile, &p->origin->process, &e) < 0 ||
		open_symbols(p, &p->origin->live, &e) < 0)
		return false;
	return p->is_late = true;
}

void
trace_program_open(struct trace_program *p)
{
	struct err e;

	if (p->is_open || p->is_late || p->is_unreadable || p->is_over)
		return;
	if (program_read_program(p, &e) == 0) {
		p->is_open = true;
		leave_origin(p);
		return;
	}
	debug("cannot read %d: %s", (int)p->pid, e.msg);
	release_process(p);
	p->is_unreadable = !become_late(p);
}

int
trace_program_close(struct trace_program *p, struct err *e)
{
	int status = 0;

	if (p->symbols)
		status = trace_program_name(p, e);
	if (p->is_late) {
		symbols_close(p->symbols);
		p->symbols = NULL;
	}
	leave_origin(p);
	release_process(p);
	ledger_release(&p->ledger);
	return status;
}

void
trace_program_free(struct trace_program *p)
{
	if (!p)
		return;
	p->nr_heirs = 0;
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
trace_program_mapped(struct trace_program *p, raddr start, bool has_file)
{
	if (has_file && !p->origin && !p->is_open && !p->first_code.v)
		p->first_code = start;
	p->is_stale |= has_file;
	p->has_new_code |= !has_file;
}

/* Read the mappings again if this may matter for a stack. */
static void
refresh(struct trace_program *p)
{
	const bool is_due =
		p->has_new_code && os_now_ns() - p->read_ns > p->reading_ns * REREAD_SHARE;
	struct err e;

	if (!p->is_stale && !is_due)
		return;
	/* If the process has ended or executes another program, the earlier data remains valid. */
	if (trace_program_read(p, &e) < 0)
		p->is_stale = p->has_new_code = false;
}

/* ---- stacks ---- */

static void
program_walk(struct trace_program *p, const struct perf_record *r, struct stack *ret)
{
	struct arch_regs regs;
	struct stack_source source = { .is_past = true };
	const struct trace_program *from = p->is_late ? p->origin : p;

	ret->nr = 0;
	ret->is_complete = ret->is_cut = false;
	if (!from->walker || !r->regs)
		return;
	arch_from_sample(&regs, r->regs);
	source.regs = regs.word;
	source.sp = arch_sp(&regs);
	source.copy = r->stack;
	source.copy_bytes = r->stack_bytes;
	source.maps = &from->process.maps;
	stack_walk_far(from->walker, &source, ret);
	/*
	 * The entry of glibc's ld.so has no unwind table (RTLD_START, sysdeps/x86_64/dl-machine.h):
	 * the frame with the stack pointer of the first instruction has no caller.
	 */
	if (ret->nr && !ret->is_cut && from->first_sp.v &&
		ret->frame[ret->nr - 1].sp.v == from->first_sp.v)
		ret->is_complete = true;
}

int
trace_program_stack(struct trace_program *p, const struct perf_record *r, struct stack *room,
	uint32_t *ret, struct err *e)
{
	trace_program_open(p);
	if (p->is_open)
		refresh(p);
	program_walk(p, r, room);
	if (stacks_add_walk(p->profile, &p->marks, room, ret, e) < 0)
		return -1;
	while (p->stacks.nr <= *ret) {
		struct trace_stack *added = array_add(&p->stacks);

		if (!added)
			return err_set(e, ENOMEM, "cannot keep stacks");
		added->end = stacks_end_of(room);
	}
	return 0;
}

/* ---- names ---- */

int
trace_program_name(struct trace_program *p, struct err *e)
{
	if (!p->symbols)
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
