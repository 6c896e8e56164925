#include <config.h>

#include "diagnose/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "account/sums.h"
#include "account/totals.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "diagnose/heap.h"
#include "elf/link-map.h"
#include "glibc/layout.h"
#include "maps/leaves.h"
#include "maps/maps.h"
#include "maps/space.h"
#include "os/cgroup.h"
#include "os/machine.h"
#include "os/os.h"
#include "os/status.h"
#include "os/target.h"

/* ---- reading ---- */

static void
check_set(struct check_process *p, enum metric m, uint64_t value)
{
	p->value[m] = value;
	p->knows[m] = true;
}

static int
check_read_status(struct check_process *p, const struct target *t, struct err *e)
{
	struct os_status s;
	uint64_t ignored;

	if (os_status(t, 0, &s, e) < 0)
		return -1;
	if (!s.has_memory)
		return err_set_kind(e, ERR_GONE, 0, "process %d has ended", (int)t->pid);
	check_set(p, METRIC_RSS, s.vm_rss_bytes);
	check_set(p, METRIC_SWAP, s.vm_swap_bytes);
	check_set(p, METRIC_VIRT, s.vm_size_bytes);
	check_set(p, METRIC_THREADS, (uint64_t)s.nr_threads);
	p->whole_bytes[CONDITION_OF_RSS] = s.vm_rss_bytes;
	p->whole_bytes[CONDITION_OF_RAM] = os_memory_bytes();
	if (os_cgroup_memory(t, &p->whole_bytes[CONDITION_OF_LIMIT], &ignored) < 0)
		p->whole_bytes[CONDITION_OF_LIMIT] = 0;
	return 0;
}

/* Take the classes of S, whose pages were counted. */
static int
check_take_space(struct check_process *p, const struct space *s, struct err *e)
{
	static const enum group groups[NR_METRICS] = {
		[METRIC_STACK] = GROUP_STACK,
		[METRIC_HEAP] = GROUP_HEAP,
		[METRIC_EXE] = GROUP_EXE,
		[METRIC_SO] = GROUP_SO,
		[METRIC_FILE] = GROUP_FILE,
		[METRIC_SHM] = GROUP_SHM,
		[METRIC_ANON] = GROUP_ANON,
	};
	const struct object *o = s->malloc_object;
	struct space_sums sums;

	if (s->memory_error.kind || s->rss_from == SPACE_RSS_NONE) {
		*e = s->memory_error.kind ? s->memory_error : s->rss_error;
		return -1;
	}
	space_sums(&sums, s, NULL);
	for (int m = METRIC_STACK; m <= METRIC_ANON; m++)
		check_set(p, (enum metric)m,
			sums.group[groups[m]].rss_bytes + sums.group[groups[m]].hugetlb_bytes);
	check_set(p, METRIC_ARENAS, s->process->arenas.nr);
	/* The arenas of a libc whose malloc the program does not use are not its heap. */
	if (s->process->arenas_error.kind || (o && !o->is_libc))
		p->knows[METRIC_HEAP] = p->knows[METRIC_ARENAS] = false;
	return 0;
}

static int
check_read_space(struct check_process *p, const struct target *t, struct err *e)
{
	const struct space_options opt = { .count_mmapped = malloc_count_mmapped };
	auto_space struct space s = { 0 };

	return space_read(&s, t, &opt, e) < 0 ? -1 : check_take_space(p, &s, e);
}

/* Read the heaps, and the address space around them. */
static int
check_read_heap(struct check_process *p, const struct check_question *q, struct err *e)
{
	const struct heap_question ask = { .ui = q->ui,
		.how = { .max_stop_ns = q->max_stop_ns, .bins_only = true } };
	auto_heap_answer struct heap_answer s = { .target = TARGET_NONE };
	struct heap_question of = ask;
	struct heap_totals totals;
	const struct object *o;

	of.ui.pid = p->pid;
	if (heap_ask(&s, &of, e) < 0)
		return -1;
	o = objects_malloc(&s.process.objects, &s.target);
	if (s.is_unknown || (o && !o->is_libc))
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"its malloc is not glibc's, or of a release that memdiag does not know");
	heap_totals(&totals, &s.heap);
	if (!totals.has_pages)
		return err_set_kind(
			e, ERR_PERMISSION, 0, "cannot determine which pages are resident");
	p->is_approximate = totals.nr_approximate || !s.heap.is_ring_closed;
	check_set(p, METRIC_TRIMMABLE, totals.account_bytes[HEAP_TRIMMABLE]);
	check_set(p, METRIC_STRANDED, totals.account_bytes[HEAP_STRANDED]);
	check_set(p, METRIC_TOPS,
		totals.account_bytes[HEAP_TOPS] + totals.account_bytes[HEAP_MAIN_TOP]);
	check_set(p, METRIC_IN_USE, totals.in_use_bytes);
	if (s.around.error.kind) {
		*e = s.around.error;
		return -1;
	}
	return check_take_space(p, &s.around.space, e);
}

static enum metric_source
check_source(const struct check_question *q)
{
	enum metric_source source = METRIC_FROM_STATUS;

	for (size_t i = 0; i < q->condition.nr; i++)
		if (metric_source(q->condition.v[i].metric) > source)
			source = metric_source(q->condition.v[i].metric);
	return source;
}

static int
check_read(struct check_process *p, const struct check_question *q, const struct target *t,
	struct err *e)
{
	if (check_read_status(p, t, e) < 0)
		return -1;
	switch (check_source(q)) {
	case METRIC_FROM_MAPS:
		return check_read_space(p, t, e);
	case METRIC_FROM_HEAP:
		return check_read_heap(p, q, e);
	default:
		return 0;
	}
}

/* ---- judging ---- */

/* Return the later of two states in this order: OK, UNKNOWN, WARNING, CRITICAL. */
static enum check_state
check_worse(enum check_state a, enum check_state b)
{
	static const int rank[] = {
		[CHECK_OK] = 0, [CHECK_UNKNOWN] = 1, [CHECK_WARNING] = 2, [CHECK_CRITICAL] = 3
	};

	return rank[a] >= rank[b] ? a : b;
}

struct condition_range
check_range(const struct check_question *q, const struct check_process *p, enum metric m,
	bool is_critical)
{
	struct condition_range range = { .most = UINT64_MAX };

	for (size_t i = 0; i < q->condition.nr; i++) {
		const struct condition *c = &q->condition.v[i];

		if (c->metric == m && c->is_critical == is_critical &&
			(!c->whole || p->whole_bytes[c->whole]))
			range = condition_both(range, condition_range(c, p->whole_bytes[c->whole]));
	}
	return range;
}

static bool
check_is_known(const struct condition *c, const struct check_process *p)
{
	return p->knows[c->metric] && (!c->whole || p->whole_bytes[c->whole]);
}

bool
check_holds(const struct condition *c, const struct check_process *p)
{
	const struct condition_range range = condition_range(c, p->whole_bytes[c->whole]);

	return check_is_known(c, p) && !condition_has(&range, p->value[c->metric]);
}

static void
check_explain(struct check_process *p, const struct condition *c)
{
	if (p->why[0])
		return;
	if (!p->knows[c->metric])
		snprintf(p->why, sizeof p->why, "%s is unknown: its malloc is not glibc's",
			metric_name(c->metric));
	else
		snprintf(p->why, sizeof p->why, "%s is unknown: %s", condition_whole_name(c->whole),
			c->whole == CONDITION_OF_LIMIT
				? "no cgroup limits its memory; use %ram or a size"
				: "the kernel reports 0");
}

static void
check_judge(struct check_process *p, const struct check_question *q)
{
	for (size_t i = 0; i < q->condition.nr; i++) {
		const struct condition *c = &q->condition.v[i];
		enum check_state state = CHECK_OK;

		if (!check_is_known(c, p)) {
			check_explain(p, c);
			state = CHECK_UNKNOWN;
		} else if (check_holds(c, p)) {
			state = c->is_critical ? CHECK_CRITICAL : CHECK_WARNING;
		}
		p->state = check_worse(p->state, state);
	}
}

/* Return by how much P exceeds the first condition that holds with its state. */
static double
check_excess(const struct check_process *p, const struct check_question *q)
{
	for (size_t i = 0; i < q->condition.nr; i++) {
		const struct condition *c = &q->condition.v[i];
		double value = (double)p->value[c->metric] + 1, limit;

		if (c->is_critical != (p->state == CHECK_CRITICAL) || !check_holds(c, p))
			continue;
		limit = (double)condition_threshold(c, p->whole_bytes[c->whole]) + 1;
		return c->compare <= CONDITION_FROM ? value / limit : limit / value;
	}
	return 0;
}

/* ---- all of it ---- */

static bool
check_is_done(const struct check_answer *a, pid_t pid)
{
	for (size_t i = 0; i < a->process.nr; i++)
		if (a->process.v[i].pid == pid)
			return true;
	return false;
}

/* Add the process of thread PID, unless it was added.  Fails with E if it has ended. */
static int
check_add(struct check_answer *a, const struct check_question *q, pid_t pid, struct err *e)
{
	auto_target struct target t = TARGET_NONE;
	struct check_process p = { .pid = pid };
	const bool is_open = target_open(&t, pid, e) == 0;
	struct check_process *new;

	if (is_open) {
		p.pid = t.pid;
		snprintf(p.name, sizeof p.name, "%s", t.comm);
	}
	if (check_is_done(a, p.pid))
		return 0;
	if (!is_open || check_read(&p, q, &t, e) < 0) {
		if (e->kind == ERR_GONE || e->code == ENOMEM)
			return -1;
		text_printable(e->msg, p.why, sizeof p.why);
		p.state = CHECK_UNKNOWN;
	}
	check_judge(&p, q);
	new = array_add(&a->process);
	if (!new)
		return err_set(e, ENOMEM, "cannot keep the processes");
	*new = p;
	return 0;
}

static void
check_find_worst(struct check_answer *a, const struct check_question *q)
{
	double most = -1;

	for (size_t i = 0; i < a->process.nr; i++) {
		const struct check_process *p = &a->process.v[i];
		const double excess = check_excess(p, q);

		if (!a->worst ||
			(p->state != a->state && check_worse(p->state, a->state) == p->state) ||
			(p->state == a->state && excess > most)) {
			a->worst = p;
			a->state = p->state;
			most = excess;
		}
	}
}

int
check_ask(struct check_answer *a, const struct check_question *q, struct err *e)
{
	for (size_t i = 0; i < q->ui.asked.nr; i++)
		if (check_add(a, q, q->ui.asked.v[i].pid, e) < 0 && e->kind != ERR_GONE)
			return -1;
	if (!a->process.nr)
		return -1;
	check_find_worst(a, q);
	return 0;
}

void
check_answer_release(struct check_answer *a)
{
	free(a->process.v);
	*a = (struct check_answer){ 0 };
}
