#include <config.h>

#include "export/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agentdata/agent-segment.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "maps/space.h"
#include "os/cgroup.h"
#include "os/installed.h"
#include "os/memory.h"
#include "os/running.h"
#include "os/target.h"

/*
 * Facts of a process can change: it moves to another cgroup, or executes another program of the
 * same name.  They are read again once in so many updates.
 */
#define FACTS_UPDATES 32
/*
 * Most that is kept of a process for the next update.  A process can have 65,530 mappings, which
 * take 15 MiB, and there can be many such processes; servers have some hundred.
 */
#define KEPT_BYTES (UINT64_C(512) << 10)

const char *
export_error_name(enum export_error reason)
{
	static const char *const names[NR_EXPORT_ERRORS] = {
		[EXPORT_ERROR_PERMISSION] = "permission",
		[EXPORT_ERROR_RESOURCES] = "resources",
		[EXPORT_ERROR_OTHER] = "other",
	};

	return names[reason];
}

/* ---- one process ---- */

static void
process_close(struct export_process *p)
{
	space_release(&p->space);
	target_release(&p->target);
	p->is_read = false;
}

static void
process_free(struct export_process *p)
{
	if (!p)
		return;
	process_close(p);
	export_facts_release(&p->facts);
	free(p);
}

static struct export_process *
process_new(struct export_scan *s, const struct os_running *r)
{
	struct export_process *p = calloc(1, sizeof *p);

	if (!p)
		return NULL;
	p->pid = r->pid;
	p->start_ticks = r->start_ticks;
	p->files = &s->files;
	p->target = (struct target)TARGET_NONE;
	return p;
}

static bool
is_open(const struct export_process *p)
{
	return p->target.proc_fd >= 0;
}

/* Open P unless it is open.  Its number may be that of another process by now. */
static int
process_open(struct export_process *p, struct err *e)
{
	if (is_open(p))
		return 0;
	if (target_open(&p->target, p->pid, e) < 0)
		return -1;
	if (p->target.start_ticks == p->start_ticks)
		return 0;
	target_release(&p->target);
	return err_set(e, ESRCH, "process %d has ended", (int)p->pid);
}

static void
count_error(struct export_scan *s, const struct err *e)
{
	enum export_error reason = EXPORT_ERROR_OTHER;

	if (e->kind == ERR_GONE)
		return;
	if (e->kind == ERR_PERMISSION)
		reason = EXPORT_ERROR_PERMISSION;
	else if (e->code == ENOMEM || e->code == EMFILE || e->code == ENFILE)
		reason = EXPORT_ERROR_RESOURCES;
	s->nr_errors[reason]++;
}

/* Read the facts of P again. */
static void
process_read_facts(struct export_scan *s, struct export_process *p)
{
	uint64_t used;
	struct err e;

	export_facts_release(&p->facts);
	if (process_open(p, &e) < 0) {
		count_error(s, &e);
		return;
	}
	export_facts_read(&p->facts, &p->target);
	if (os_cgroup_memory(&p->target, &p->limit_bytes, &used) < 0)
		p->limit_bytes = 0;
}

/* Decide whether P, of which the kernel lists R, is exported, and in which group. */
static void
process_judge(struct export_scan *s, struct export_process *p, const struct os_running *r)
{
	const bool is_due = (s->nr_updates + (uint64_t)p->pid) % FACTS_UPDATES == 0;

	if (!p->facts.comm[0] || is_due || strcmp(p->facts.comm, r->comm) != 0)
		process_read_facts(s, p);
	memcpy(p->facts.comm, r->comm, sizeof p->facts.comm);
	p->facts.rss_bytes = r->rss_bytes;
	p->is_wanted = export_matches_take(s->matches, &p->facts);
	if (p->is_wanted)
		export_name(s->template, &p->facts, p->group);
}

/* Read the memory of P, which is open. */
static int
process_read_space(struct export_process *p, struct err *e)
{
	const struct space_options opt = { .files = p->files };
	struct space *s = &p->space;

	if ((s->own ? space_read_again(s, &p->target, &opt, e)
		    : space_read(s, &p->target, &opt, e)) < 0)
		return -1;
	if (!os_runs_same_program(&p->target))
		return err_set(e, ESRCH, "process %d began another program", (int)p->pid);
	if (s->rss_from != SPACE_RSS_NONE)
		return 0;
	*e = s->rss_error;
	return -1;
}

/*
 * Open and read P.  A program that it executed meanwhile is another one: files that were opened for
 * the former show nothing, so they are opened again, once.
 */
static int
read_or_reopen(struct export_process *p, struct err *e)
{
	const bool was_open = is_open(p);

	if (process_open(p, e) == 0 && process_read_space(p, e) == 0)
		return 0;
	process_close(p);
	if (!was_open || e->kind != ERR_GONE)
		return -1;
	if (process_open(p, e) == 0 && process_read_space(p, e) == 0)
		return 0;
	process_close(p);
	return -1;
}

/*
 * Return whether a profile or a recording of memdiag runs in P.  Symbols of all objects are not
 * searched for that: the agent is looked for by the name of its file.
 */
static bool
has_profile(const struct process *p)
{
	auto_agent_segment struct agent_segment agent = { 0 };
	bool has_agent = false;
	struct err e;

	for (size_t i = 0; i < p->objects.nr && !has_agent; i++)
		has_agent = strstr(p->objects.v[i].path, OS_AGENT_FILE) != NULL;
	return has_agent && agent_segment_read(&agent, p, &e) == 0 &&
		agent_segment_is_noting(&agent);
}

static void
process_update(struct export_scan *s, struct export_process *p)
{
	struct err e;

	p->is_read = read_or_reopen(p, &e) == 0;
	if (!p->is_read) {
		count_error(s, &e);
		return;
	}
	p->sums = (struct export_sums){ .limit = p->limit_bytes };
	export_sums_add_space(&p->sums, &p->space);
	p->sums.nr_profiled = has_profile(p->space.process);
	if (space_own_bytes(&p->space) > KEPT_BYTES)
		space_release(&p->space);
}

int
export_process_read(struct export_process *p, struct err *e)
{
	return p->space.own ? 0 : read_or_reopen(p, e);
}

/* ---- all processes ---- */

/* Sort the largest first. */
static int
compare_rss(const void *a, const void *b)
{
	const struct export_process *x = *(struct export_process *const *)a;
	const struct export_process *y = *(struct export_process *const *)b;

	if (x->facts.rss_bytes != y->facts.rss_bytes)
		return x->facts.rss_bytes < y->facts.rss_bytes ? 1 : -1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Leave out the smallest of the wanted processes if there are too many.  0, or -1: no memory. */
static int
limit_wanted(struct export_scan *s)
{
	auto_free struct export_process **wanted = malloc((s->processes.nr + 1) * sizeof *wanted);
	size_t nr = 0;

	if (!wanted)
		return -1;
	for (size_t i = 0; i < s->processes.nr; i++)
		if (s->processes.v[i]->is_wanted)
			wanted[nr++] = s->processes.v[i];
	s->nr_left_out = nr > s->max_processes ? nr - s->max_processes : 0;
	if (s->nr_left_out)
		qsort(wanted, nr, sizeof *wanted, compare_rss);
	for (size_t i = s->max_processes; i < nr; i++)
		wanted[i]->is_wanted = false;
	return 0;
}

/*
 * Make S's processes those of the NR at R, with what is known of them.  0, or -1 (no memory) with S
 * as it was.
 */
static int
take_running(struct export_scan *s, const struct os_running *r, size_t nr)
{
	struct export_process **v = calloc(nr + 1, sizeof *v), **old = s->processes.v;
	size_t at = 0, failed = 0;

	if (!v)
		return -1;
	for (size_t i = 0; i < nr; i++) {
		while (at < s->processes.nr && old[at]->pid < r[i].pid)
			process_free(old[at++]);
		if (at < s->processes.nr && old[at]->pid == r[i].pid &&
			old[at]->start_ticks == r[i].start_ticks)
			v[i - failed] = old[at++];
		else if (!(v[i - failed] = process_new(s, &r[i])))
			failed++;
	}
	while (at < s->processes.nr)
		process_free(old[at++]);
	free(old);
	s->processes.v = v;
	s->processes.nr = s->processes.room = nr - failed;
	s->nr_errors[EXPORT_ERROR_RESOURCES] += failed;
	return 0;
}

int
export_scan_update(struct export_scan *s, struct err *e)
{
	auto_free struct os_running *running = NULL;
	size_t nr, at = 0;

	if (os_list_running(&running, &nr, e) < 0)
		return -1;
	if (take_running(s, running, nr) < 0)
		return err_set(e, ENOMEM, "cannot keep the processes");
	for (size_t i = 0; i < s->processes.nr; i++) {
		while (running[at].pid != s->processes.v[i]->pid)
			at++;
		process_judge(s, s->processes.v[i], &running[at]);
	}
	if (limit_wanted(s) < 0)
		return err_set(e, ENOMEM, "cannot sort the processes");
	for (size_t i = 0; i < s->processes.nr; i++) {
		if (s->processes.v[i]->is_wanted)
			process_update(s, s->processes.v[i]);
		else
			process_close(s->processes.v[i]);
	}
	s->nr_updates++;
	return 0;
}

void
export_scan_release(struct export_scan *s)
{
	for (size_t i = 0; i < s->processes.nr; i++)
		process_free(s->processes.v[i]);
	free(s->processes.v);
	s->processes.v = NULL;
	s->processes.nr = s->processes.room = 0;
}
