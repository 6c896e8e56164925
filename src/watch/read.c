#include <config.h>

#include "watch/read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account/rows.h"
#include "account/selection.h"
#include "account/sums.h"
#include "account/totals.h"
#include "base/text.h"
#include "capture/top.h"
#include "diagnose/heap.h"
#include "glibc/layout.h"
#include "maps/space.h"
#include "os/cgroup.h"
#include "os/clock.h"
#include "os/memory.h"
#include "os/target.h"

/* Longer names are cut. */
#define NAME_BYTES 512

/* T is not read because of E. */
static void
table_fail(struct watch_table *t, const struct err *e)
{
	t->is_read = false;
	free(t->why);
	t->why = strdup(e->msg);
}

/* ---- the address space ---- */

static int
add_leaf_sum(struct watch_table *t, const struct row *r, struct err *e)
{
	const int parent = r->parent == NO_PARENT ? WATCH_NO_PARENT : (int)r->parent;
	char name[NAME_BYTES];
	struct watch_row *to =
		watch_table_add(t, text_escape(r->name, name, sizeof name), parent, e);

	if (!to)
		return -1;
	to->number[0] = r->sum.rss_bytes;
	to->number[1] = r->sum.swap_bytes;
	to->number[2] = r->sum.size_bytes;
	return 0;
}

/* Fill T with the leaves of R's space, grouped as BY. */
static int
read_rows(struct watch_table *t, const struct watch_reader *r, enum rows_by by, struct err *e)
{
	const struct selection all = { 0 };
	auto_rows struct rows rows = { 0 };

	if (rows_make(&rows, &r->space, &r->target, by, &all, e) < 0)
		return -1;
	for (size_t i = 0; i < rows.nr; i++)
		if (add_leaf_sum(t, &rows.v[i], e) < 0)
			return -1;
	t->is_read = true;
	return watch_table_finish(t, e);
}

static int
read_spaces(struct watch_sample *s, const struct watch_reader *r, struct err *e)
{
	static const enum rows_by by[] = {
		[WATCH_CLASSES] = BY_CLASS,
		[WATCH_OBJECTS] = BY_OBJECT,
		[WATCH_ARENAS] = BY_ARENA,
		[WATCH_THREADS] = BY_THREAD,
	};

	for (int view = WATCH_CLASSES; view <= WATCH_THREADS; view++)
		if ((view == WATCH_CLASSES || r->views & WATCH_BIT(view)) &&
			read_rows(&s->table[view], r, by[view], e) < 0)
			return -1;
	return 0;
}

/* ---- malloc ---- */

/* Fill T with the stacks of a running profile. */
static int
watch_read_sites(struct watch_table *t, struct watch_reader *r, struct err *e)
{
	auto_profile_top struct profile_top top = { .is_sampling = false };

	if (profile_top_read(&top, r->space.process, WATCH_MAX_ROWS, &r->names, e) < 0)
		return -1;
	if (!top.is_sampling)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"no profile is running: 'memdiag profile start -p %d' begins one",
			(int)r->target.pid);
	for (uint32_t i = 0; i < top.nr_stacks; i++) {
		const struct profile_top_stack *s = &top.stack[i];
		char text[NAME_BYTES], name[NAME_BYTES];
		struct watch_row *row;

		snprintf(text, sizeof text, "%s%s%s", s->function, s->caller ? " < " : "",
			s->caller ? s->caller : "");
		row = watch_table_add(t, text_escape(text, name, sizeof name), WATCH_NO_PARENT, e);
		if (!row)
			return -1;
		row->number[0] = (uint64_t)s->bytes;
		row->number[1] = (uint64_t)s->blocks;
	}
	t->is_read = t->is_rough = true;
	return watch_table_finish(t, e);
}

static int
read_heap(
	struct watch_sample *s, struct watch_table *t, const struct watch_reader *r, struct err *e)
{
	const struct heap_question ask = {
		.ui = { .pid = r->target.pid, .quiet = true },
		.how = { .max_stop_ns = r->max_stop_ns, .bins_only = true },
	};
	auto_heap_answer struct heap_answer a = { .target = TARGET_NONE };
	struct heap_totals totals;

	if (heap_ask(&a, &ask, e) < 0)
		return -1;
	heap_totals(&totals, &a.heap);
	if (a.is_unknown || !totals.has_pages)
		return err_set_kind(e, ERR_UNSUPPORTED, 0,
			"its malloc is of a release that memdiag does not know, or its pages cannot be counted");
	for (int i = 0; i < NR_HEAP_ACCOUNTS; i++) {
		struct watch_row *row = watch_table_add(
			t, heap_account_name((enum heap_account)i), WATCH_NO_PARENT, e);

		if (!row)
			return -1;
		row->number[0] = totals.account_bytes[i];
	}
	s->stopped_ns = a.heap.longest_stop_ns;
	t->is_rough = totals.nr_approximate || !a.heap.is_ring_closed;
	t->is_read = true;
	return watch_table_finish(t, e);
}

/* ---- the whole ---- */

static int
watch_read_space(struct watch_reader *r, struct err *e)
{
	const struct space_options opt = { .count_mmapped = malloc_count_mmapped };

	if ((r->space.own ? space_read_again(&r->space, &r->target, &opt, e)
			  : space_read(&r->space, &r->target, &opt, e)) < 0)
		return -1;
	if (!os_runs_same_program(&r->target))
		return err_set(e, ESRCH, "process %d has ended, or began another program",
			(int)r->target.pid);
	if (r->space.rss_from != SPACE_RSS_NONE)
		return 0;
	*e = r->space.rss_error;
	return -1;
}

/* Open the program that R's process has executed meanwhile.  False if it has ended. */
static bool
reopen(struct watch_reader *r)
{
	const pid_t pid = r->target.pid;
	const uint64_t start_ticks = r->target.start_ticks;
	struct err ignored;

	watch_reader_release(r);
	if (target_open(&r->target, pid, &ignored) == 0 && r->target.start_ticks == start_ticks)
		return true;
	watch_reader_release(r);
	r->target.pid = pid;
	return false;
}

static void
fill_facts(struct watch_sample *s, const struct watch_reader *r)
{
	const struct space *space = &r->space;

	s->pid = r->target.pid;
	os_thread_comm(&r->target, r->target.pid, s->comm);
	s->virt_bytes = space->totals.virt_bytes;
	s->rss_bytes = space->totals.rss_bytes;
	s->swap_bytes = space->totals.swap_bytes;
	s->hugetlb_bytes = space->totals.hugetlb_bytes;
	s->peak_bytes = space->after.vm_hwm_bytes;
	s->nr_threads = (uint64_t)space->after.nr_threads;
	s->nr_arenas = space->process->arenas.nr;
	s->nr_mappings = space_nr_mappings(space);
	if (os_cgroup_memory(&r->target, &s->limit_bytes, &s->used_bytes) < 0)
		s->limit_bytes = s->used_bytes = 0;
}

/* Fill S from R's space, which was read just now. */
static int
fill(struct watch_sample *s, struct watch_reader *r, struct err *e)
{
	struct watch_table *sites = &s->table[WATCH_SITES], *heap = &s->table[WATCH_HEAP];
	struct err why;

	fill_facts(s, r);
	if (read_spaces(s, r, e) < 0)
		return -1;
	if (r->views & WATCH_BIT(WATCH_SITES) && watch_read_sites(sites, r, &why) < 0)
		table_fail(sites, &why);
	if (r->views & WATCH_BIT(WATCH_HEAP) && read_heap(s, heap, r, &why) < 0)
		table_fail(heap, &why);
	return 0;
}

int
watch_read(struct watch_sample *ret, struct watch_reader *r, struct err *e)
{
	*ret = (struct watch_sample){ .time_ns = os_real_ns() };
	if (watch_read_space(r, e) < 0 &&
		(e->kind != ERR_GONE || !reopen(r) || watch_read_space(r, e) < 0))
		return -1;
	if (fill(ret, r, e) == 0)
		return 0;
	watch_sample_release(ret);
	return -1;
}

int
watch_reader_open(struct watch_reader *r, pid_t pid, struct err *e)
{
	return target_open(&r->target, pid, e);
}

void
watch_reader_release(struct watch_reader *r)
{
	live_names_release(&r->names);
	space_release(&r->space);
	target_release(&r->target);
	r->target = (struct target)TARGET_NONE;
}
