/* A process and the agent in it: reading both, loading the agent, and the hooks that lead to it. */
#include <config.h>

#include "agentctl/host.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "elf/image.h"
#include "elf/link-map.h"
#include "elf/objects.h"
#include "elf/symbols.h"
#include "inject/load-filters.h"
#include "inject/load-library.h"
#include "inject/load-place.h"
#include "inject/load.h"
#include "inject/target.h"
#include "os/memory.h"
#include "os/os.h"
#include "os/part.h"

void
host_release(struct host *s)
{
	agent_segment_release(&s->agent);
	inject_target_free(s->callee);
	process_release(&s->process);
	*s = (struct host){ .target = s->target };
}

/* Find the malloc of the process, and determine how functions are called in it. */
static int
host_learn(struct host *s, struct err *e)
{
	struct process *p = &s->process;
	const int found = allocator_find(&s->other, p, e);

	if (found < 0)
		return -1;
	s->is_other = found;
	if (s->is_other)
		return inject_check_state(s->target, e) < 0
			? -1
			: inject_target_learn_other(&s->callee, p, &s->other.inject, e);
	return inject_target_new(&s->callee, p, e) < 0 ? -1 : process_find_arenas(p, NULL, e);
}

int
host_look(struct host *s, struct err *e)
{
	host_release(s);
	return process_read(&s->process, s->target, e) < 0 || host_learn(s, e) < 0 ||
			agent_segment_read(&s->agent, &s->process, e) < 0
		? -1
		: 0;
}

int
host_write(const struct host *s, size_t from, size_t to, struct err *e)
{
	const char *copy = (const char *)s->agent.segment;
	const char *end = (const char *)(wire_threads(s->agent.segment) + s->agent.nr_threads);
	const struct os_part part = { "the counters", s->agent.segment_at, (uint64_t)(end - copy) };

	return os_part_write(
		s->target, &part, raddr_add(s->agent.segment_at, from), copy + from, to - from, e);
}

/* Write to a variable of the agent, at an address that the agent itself may give. */
static int
write_variable(const struct host *s, raddr to, const void *from, size_t size, struct err *e)
{
	const struct object *agent = objects_at(&s->process.objects, s->agent.object_at);
	struct os_part part = { .what = "the agent" };

	if (agent) {
		part.start = agent->start;
		part.size_bytes = agent->end.v - agent->start.v;
	}
	return os_part_write(s->target, &part, to, from, size, e);
}

/* ---- the functions to hook ---- */

struct hooks {
	struct wire_live live;			       /* from the agent */
	struct wire_other_hook other[WIRE_MAX_OTHERS]; /* only if malloc is not glibc's */
	struct hook v[WIRE_MAX_HOOKS + WIRE_MAX_OTHERS];
	size_t nr;
};

static int
host_read_live(const struct host *s, struct hooks *h, struct err *e)
{
	const struct target *t = s->target;

	if (!s->agent.live_at.v || os_read(t, s->agent.live_at, &h->live, sizeof h->live, e) < 0 ||
		h->live.magic != WIRE_LIVE_MAGIC)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"the agent in %d (%s) is of another memdiag", t->pid, t->comm);
	for (size_t i = 0; i < WIRE_MAX_HOOKS; i++)
		h->live.hook[i].name[sizeof h->live.hook[i].name - 1] = '\0';
	return 0;
}

/* Return how many arguments the function NAME takes. */
static unsigned int
nr_args_of(const char *name)
{
	static const struct {
		const char *name;
		unsigned int nr_args;
	} known[] = { { "malloc", 1 }, { "free", 1 }, { "calloc", 2 }, { "realloc", 2 },
		{ "memalign", 2 }, { "aligned_alloc", 2 }, { "posix_memalign", 3 }, { "valloc", 1 },
		{ "pvalloc", 1 } };

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(known[i].name, name) == 0)
			return known[i].nr_args;
	return PROLOGUE_ANY_ARGS;
}

/*
 * Add a hook of the function NAME in O, or if O lacks it in OR: the one that the program calls.  A
 * function that both lack is left out.
 */
static void
add_hook(struct hooks *h, const struct object *o, const struct object * or, const char *name,
	uint64_t hook, uint64_t real)
{
	struct image_symbol function;
	unsigned int nr_args = nr_args_of(name);

	if ((!o || image_find(o->image, name, &function) < 0) &&
		(! or || image_find(or->image, name, &function) < 0))
		return;
	/* A function with several names gets the hook of the first. */
	for (size_t i = 0; i < h->nr; i++)
		if (h->v[i].function.v == function.addr.v) {
			hook = h->v[i].hook.v;
			nr_args = h->v[i].nr_args;
		}
	h->v[h->nr] = (struct hook){ name, function.addr, function.size_bytes, nr_args, { hook },
		{ real } };
	h->nr++;
}

/* Return whether W is of a function that all mallocs have. */
static bool
is_of_malloc(const struct hooks *h, const struct wire_hook *w)
{
	for (size_t i = 0; i < WIRE_MAX_OTHERS && h->other[i].name[0]; i++)
		if (strcmp(h->other[i].name, w->name) == 0)
			return true;
	return false;
}

static int
read_others(const struct host *s, struct hooks *h, struct err *e)
{
	if (os_read(s->target, (raddr){ h->live.others }, h->other, sizeof h->other, e) < 0)
		return -1;
	for (size_t i = 0; i < WIRE_MAX_OTHERS; i++)
		h->other[i].name[sizeof h->other[i].name - 1] = '\0';
	return 0;
}

static const struct object *
find_libc(const struct host *s)
{
	for (size_t i = 0; i < s->process.objects.nr; i++)
		if (s->process.objects.v[i].is_libc)
			return &s->process.objects.v[i];
	return NULL;
}

static int
list_hooks(const struct host *s, enum wire_jobs jobs, struct hooks *h, struct err *e)
{
	const struct object *malloc_of = objects_malloc(&s->process.objects, s->target);
	const struct object *libc = s->is_other ? find_libc(s) : NULL;

	if (host_read_live(s, h, e) < 0 || (s->is_other && read_others(s, h, e) < 0))
		return -1;
	for (size_t i = 0; s->is_other && i < WIRE_MAX_OTHERS && h->other[i].name[0]; i++)
		add_hook(h, malloc_of, NULL, h->other[i].name, h->other[i].hook, h->other[i].real);
	for (size_t i = 0; i < WIRE_MAX_HOOKS && h->live.hook[i].name[0]; i++) {
		const struct wire_hook *w = &h->live.hook[i];

		if (w->hook[jobs] && !is_of_malloc(h, w))
			add_hook(h, malloc_of, libc, w->name, w->hook[jobs], w->real);
	}
	return 0;
}

/* Pass the agent the calls of free() that malloc itself makes. */
static int
write_inner_calls(const struct host *s, const struct hooks *h, struct err *e)
{
	raddr at = raddr_add(s->agent.live_at, offsetof(struct wire_live, inner_start)), start, end;

	for (size_t i = 0; i < h->nr && !s->is_other; i++) {
		if (strcmp(h->v[i].name, "free") != 0)
			continue;
		hook_inner_calls(s->callee, h->v[i].function, &start, &end);
		return write_variable(
			s, at, (uint64_t[]){ start.v, end.v - start.v }, 2 * sizeof(uint64_t), e);
	}
	return 0;
}

/* Pass the agent the code whose mappings are not the program's. */
static int
write_libc_code(const struct host *s, const struct hooks *h, struct err *e)
{
	raddr start, end;

	hook_libc_code(s->callee, &start, &end);
	return write_variable(s, (raddr){ h->live.libc_at },
		(uint64_t[]){ start.v, end.v - start.v }, 2 * sizeof(uint64_t), e);
}

static enum wire_jobs
jobs_of(bool counts, enum wire_noting noting)
{
	switch (noting) {
	case WIRE_NOTE_SAMPLES:
		return counts ? WIRE_JOBS_BOTH : WIRE_JOBS_SAMPLE;
	case WIRE_NOTE_ALL:
		return counts ? WIRE_JOBS_COUNT_AND_RECORD : WIRE_JOBS_RECORD;
	case WIRE_NOTE_NOTHING:
		break;
	}
	return WIRE_JOBS_COUNT;
}

/* Pass the agent what the functions that the program calls by name should record. */
static int
switch_noting(const struct host *s, enum wire_noting noting, struct hook_report *ret, struct err *e)
{
	const uint16_t word = (uint16_t)noting;
	struct hooks h;

	*ret = (struct hook_report){ .nr_entries = 0 };
	return host_read_live(s, &h, e) < 0
		? -1
		: write_variable(s, (raddr){ h.live.noting_at }, &word, sizeof word, e);
}

/* Pass the agent the jobs: the hooks of other mallocs read them. */
static int
set_mode(const struct host *s, const struct hooks *h, enum wire_jobs jobs, struct err *e)
{
	return s->is_other ? write_variable(s, (raddr){ h->live.mode_at }, &h->live.mode[jobs],
				     sizeof h->live.mode[jobs], e)
			   : 0;
}

int
host_set_hooks(struct host *s, bool counts, enum wire_noting noting,
	const struct inject_options *opt, struct hook_report *ret, struct inject_report *report,
	struct err *e)
{
	const enum wire_jobs jobs = jobs_of(counts, noting);
	struct hooks h = { .nr = 0 };

	if (host_is_preloaded(s)) {
		*report = (struct inject_report){ .tid = 0 };
		return switch_noting(s, noting, ret, e);
	}
	return list_hooks(s, jobs, &h, e) < 0 || write_inner_calls(s, &h, e) < 0 ||
			write_libc_code(s, &h, e) < 0 || set_mode(s, &h, jobs, e) < 0
		? -1
		: hook_set(s->callee, &s->process.arenas, opt, h.v, h.nr, ret, report, e);
}

int
host_prepare(struct host *s, const struct inject_options *opt, bool is_new, struct err *e)
{
	struct hook_report lifted;

	if (!is_new && load_refuse_filters(s->target, e) < 0)
		return -1;
	if (host_is_preloaded(s) || agent_segment_is_counting(&s->agent) || host_noting(s))
		return 0;
	if (hook_lift(s->callee, opt, &lifted, e) < 0)
		return -1;
	/* The process was read with the old hooks of mmap(): read it again. */
	return lifted.nr_entries || lifted.nr_slots ? host_look(s, e) : 0;
}

int
host_end_job(struct host *s, bool counts, enum wire_noting noting, const struct inject_options *opt,
	struct hook_report *ret, struct err *e)
{
	struct inject_report report;

	return counts || noting || host_is_preloaded(s)
		? host_set_hooks(s, counts, noting, opt, ret, &report, e)
		: hook_lift(s->callee, opt, ret, e);
}

/* ---- a program without a dynamic linker ---- */

/* The data for the agent, found before it is loaded. */
struct introduction {
	const struct target *target;
	uint64_t live; /* offset of its struct wire_live */
	raddr function[WIRE_MAX_HOOKS];
};

/* Find a function of the program.  A program without fork() has no _Fork(). */
static int
host_find_function(const struct host *s, const char *name, raddr *ret, struct err *e)
{
	const struct object *program = objects_malloc(&s->process.objects, s->target);
	struct image_symbol function;

	if (program && image_find(program->image, name, &function) == 0)
		*ret = function.addr;
	else if (strcmp(name, "_Fork") != 0)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%d (%s) is linked statically, and has no %s()", s->target->pid,
			s->target->comm, name);
	return 0;
}

static int
agentctl_host_prepare(
	struct introduction *in, const struct host *s, const char *agent, struct err *e)
{
	auto_image struct image *image = NULL;
	const struct wire_live *live = NULL;
	struct image_symbol symbol;

	*in = (struct introduction){ .target = s->target };
	if (image_open_file(&image, agent, e) < 0)
		return -1;
	if (image_find(image, WIRE_LIVE_SYMBOL, &symbol) == 0)
		live = (const struct wire_live *)(const void *)image_initial(
			image, symbol.addr, sizeof *live);
	if (!live || live->magic != WIRE_LIVE_MAGIC)
		return err_set_kind(e, ERR_UNSUPPORTED, 0, "%s is of another memdiag", agent);
	in->live = symbol.addr.v;
	for (size_t i = 0; i < WIRE_MAX_HOOKS && live->hook[i].name[0]; i++)
		if (host_find_function(s, live->hook[i].name, &in->function[i], e) < 0)
			return -1;
	return 0;
}

/* Pass the agent, which is LIBRARY, the addresses that it would have looked up. */
static int
introduce(const struct os_part *library, void *arg, struct err *e)
{
	const struct introduction *in = arg;
	const raddr at = raddr_add(library->start, in->live);
	const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	struct wire_live live;

	if (os_read(in->target, at, &live, sizeof live, e) < 0)
		return -1;
	for (size_t i = 0; i < WIRE_MAX_HOOKS; i++)
		if (in->function[i].v &&
			os_part_write(in->target, library, (raddr){ live.hook[i].real },
				&in->function[i], sizeof in->function[i], e) < 0)
			return -1;
	return os_part_write(in->target, library,
		raddr_add(at, offsetof(struct wire_live, page_bytes)), &page_bytes,
		sizeof page_bytes, e);
}

/*
 * Refuse releases before 2.34: fork() does not use _Fork(), and debugging may put something after a
 * block.  They are recognised by variables that programs could set to functions (malloc/hooks.c).
 */
static int
check_release(const struct host *s, struct err *e)
{
	const struct target *t = s->target;
	const struct object *program = objects_malloc(&s->process.objects, t);
	struct image_symbol old;

	if (!program || image_find(program->image, "__malloc_hook", &old) < 0)
		return 0;
	return err_set_kind(e, ERR_UNSUPPORTED, 0,
		"%d (%s) is linked statically with a glibc older than 2.34, in which memdiag does not count",
		t->pid, t->comm);
}

static int
bring(const struct host *s, const struct inject_options *opt, const char *agent,
	struct inject_report *report, struct err *e)
{
	struct loaded_library library;
	struct introduction in;

	if (!inject_is_static(s->callee))
		return load_library(s->callee, &s->process.arenas, opt, agent, &library, report, e);
	if (check_release(s, e) < 0 || agentctl_host_prepare(&in, s, agent, e) < 0)
		return -1;
	return load_place(
		s->callee, &s->process.arenas, opt, agent, introduce, &in, &library, report, e);
}

/* ---- loading it ---- */

static int
host_load(struct host *s, const struct inject_options *opt, const char *agent,
	struct host_arrival *ret, struct err *e)
{
	const struct target *t = s->target;

	if (bring(s, opt, agent, &ret->borrowed, e) < 0 || host_look(s, e) < 0)
		return -1;
	if (!s->agent.segment)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"the agent was loaded into %d (%s), but cannot count there", t->pid,
			t->comm);
	ret->is_new = true;
	return 0;
}

int
host_bring_agent(struct host *s, const struct inject_options *opt, const char *agent,
	struct host_arrival *ret, struct err *e)
{
	*ret = (struct host_arrival){ 0 };
	if (!s->agent.object_at.v && host_load(s, opt, agent, ret, e) < 0)
		return -1;
	if (!s->agent.segment || s->agent.is_parents) {
		if (!s->agent.is_parents)
			return err_set_kind(e, ERR_UNSUPPORTED, 0,
				"the agent in %d (%s) has no counters: it could not make the memory for them when it was loaded",
				s->target->pid, s->target->comm);
		err_set_kind(e, ERR_UNSUPPORTED, 0,
			"%d (%s) was forked from a process that the agent counts in, and has no counters of its own",
			s->target->pid, s->target->comm);
		return err_hint(e,
			"Begin with its parent stopped counting, or start the program with 'memdiag run --follow-children'");
	}
	return 0;
}
