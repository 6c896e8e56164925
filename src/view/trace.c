#include <config.h>

#include "view/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "report/frames.h"
#include "ui/json.h"
#include "ui/table.h"
#include "ui/units.h"

/* ---- lines of calls ---- */

/* Width of the columns before the stack. */
#define EVENT_COLUMNS 58

void
trace_print_head(FILE *f)
{
	fprintf(f, "%10s  %8s  %-7s  %11s  %-12s  %s\n", "TIME", "THREAD", "CALL", "SIZE",
		"ADDRESS", "STACK");
}

/*
 * Errors of these calls (mmap(2), mremap(2), madvise(2), shmat(2)), and errors returned by drivers;
 * glibc names errors since 2.32.
 */
const char *
trace_error_name(int error, char *buf, size_t size)
{
	static const struct {
		int error;
		const char *name;
	} known[] = { { ENOMEM, "ENOMEM" }, { EINVAL, "EINVAL" }, { EEXIST, "EEXIST" },
		{ EFAULT, "EFAULT" }, { EBADF, "EBADF" }, { EACCES, "EACCES" }, { EPERM, "EPERM" },
		{ EAGAIN, "EAGAIN" }, { ENODEV, "ENODEV" }, { EOVERFLOW, "EOVERFLOW" },
		{ EIDRM, "EIDRM" }, { ENFILE, "ENFILE" }, { EOPNOTSUPP, "EOPNOTSUPP" },
		{ ENXIO, "ENXIO" }, { ENOSYS, "ENOSYS" }, { ETXTBSY, "ETXTBSY" },
		{ EINTR, "EINTR" }, { EIO, "EIO" }, { EBUSY, "EBUSY" }, { ENOSPC, "ENOSPC" } };

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].error == error)
			return known[i].name;
	snprintf(buf, size, "error %d", error);
	return buf;
}

/* Write "128.0 MiB", "-128.0 MiB" for memory that the call removes, or the error, to BUF. */
static const char *
size_of_event(const struct trace_event *event, const struct ui_options *ui, char *buf, size_t size)
{
	char bytes[32];

	if (event->error)
		snprintf(buf, size, "%s", trace_error_name(event->error, bytes, sizeof bytes));
	else if (event->is_size_unknown)
		snprintf(buf, size, "?");
	else
		snprintf(buf, size, "%s%s", event->gives_back ? "-" : "",
			ui_size(ui, event->bytes, bytes, sizeof bytes));
	return buf;
}

void
trace_print_event(const struct trace_event *event, const struct ui_options *ui,
	const struct ui_output *out, FILE *f)
{
	const struct trace_program *p = event->program;
	const struct trace_stack *s = &p->stacks.v[event->stack];
	const char *mark = s->is_mallocs ? "[malloc] " : event->is_reserve ? "[reserve] " : "";
	char size[40];

	fprintf(f, "%10.3f  %8d  %-7s  %11s  %-12" PRIx64 "  ", (double)event->time_ns / 1e9,
		(int)event->tid, trace_call_names[event->call],
		size_of_event(event, ui, size, sizeof size), event->address);
	fputs(mark, f);
	frames_print_line(p->profile, event->stack, s->nr_inner,
		out->columns ? out->columns - EVENT_COLUMNS - (int)strlen(mark) : 0, f);
	fputc('\n', f);
	if (ui->verbose)
		frames_print(p->profile, event->stack, &p->marks, s->end, f);
}

/* ---- the order of stacks ---- */

/* A program's stack. */
struct trace_row {
	const struct trace_program *program;
	uint32_t stack;
	const struct trace_sums *sums;
};

struct trace_rows {
	struct trace_row *v;
	size_t nr, room;
};

/* Compare by bytes left, then by bytes mapped, which matters for an ended process. */
static int
by_weight(const void *a, const void *b)
{
	const struct trace_sums *x = ((const struct trace_row *)a)->sums;
	const struct trace_sums *y = ((const struct trace_row *)b)->sums;
	const uint64_t key[2][3] = {
		{ x->left_bytes, x->mapped_bytes + x->touched_bytes,
			x->unmapped_bytes + x->discarded_bytes },
		{ y->left_bytes, y->mapped_bytes + y->touched_bytes,
			y->unmapped_bytes + y->discarded_bytes },
	};

	for (int i = 0; i < 3; i++)
		if (key[0][i] != key[1][i])
			return key[0][i] > key[1][i] ? -1 : 1;
	return 0;
}

/* Return the number of successful calls from a stack. */
static uint64_t
nr_calls(const struct trace_sums *s)
{
	return s->nr_maps + s->nr_unmaps + s->nr_discards + s->nr_failed + s->nr_minor +
		s->nr_major;
}

static int
sort_rows(struct trace_rows *rows, const struct trace *t, struct err *e)
{
	for (size_t i = 0; i < t->programs.nr; i++) {
		const struct trace_program *p = t->programs.v[i];

		for (size_t k = 0; k < p->stacks.nr; k++) {
			const struct trace_sums *sums = &p->stacks.v[k].sums;
			struct trace_row *row;

			if (!nr_calls(sums))
				continue;
			row = array_add(rows);
			if (!row)
				return err_set(e, ENOMEM, "cannot sort stacks");
			*row = (struct trace_row){ p, (uint32_t)k, sums };
		}
	}
	if (rows->nr)
		qsort(rows->v, rows->nr, sizeof *rows->v, by_weight);
	return 0;
}

/* ---- text ---- */

static struct trace_sums
sum_of_all(const struct trace_rows *rows)
{
	struct trace_sums all = { 0 };

	for (size_t i = 0; i < rows->nr; i++) {
		const struct trace_sums *s = rows->v[i].sums;

		all.nr_maps += s->nr_maps;
		all.mapped_bytes += s->mapped_bytes;
		all.freed_bytes += s->freed_bytes;
		all.nr_unmaps += s->nr_unmaps;
		all.unmapped_bytes += s->unmapped_bytes;
		all.nr_discards += s->nr_discards;
		all.discarded_bytes += s->discarded_bytes;
		all.nr_failed += s->nr_failed;
		all.nr_minor += s->nr_minor;
		all.nr_major += s->nr_major;
		all.touched_bytes += s->touched_bytes;
		all.left_bytes += s->left_bytes;
		all.resident_bytes += s->resident_bytes;
		all.swapped_bytes += s->swapped_bytes;
		all.huge_bytes += s->huge_bytes;
	}
	return all;
}

/* True if the remaining bytes are known for any program: nothing remains of an ended one. */
static bool
is_any_settled(const struct trace *t)
{
	for (size_t i = 0; i < t->programs.nr; i++)
		if (t->programs.v[i]->is_settled)
			return true;
	return false;
}

static bool
is_huge_known(const struct trace *t)
{
	for (size_t i = 0; i < t->programs.nr; i++)
		if (t->programs.v[i]->is_settled && !t->programs.v[i]->knows_huge)
			return false;
	return is_any_settled(t);
}

static const char *
trace_plural(uint64_t nr)
{
	return nr == 1 ? "" : "s";
}

/* Print the bytes mapped and the other sums, for all stacks or one. */
static void
trace_print_sums(const struct trace_view *v, const struct trace_sums *s, bool is_settled, FILE *f)
{
	const bool is_estimate = v->faults && (v->period > 1 || s->huge_bytes);

	if (v->faults) {
		fprintf(f, "%s touched in %" PRIu64 " page fault%s",
			UI_MARK(UI_SIZE(v->ui, s->touched_bytes), is_estimate),
			s->nr_minor + s->nr_major, trace_plural(s->nr_minor + s->nr_major));
		if (s->nr_major)
			fprintf(f, " (%" PRIu64 " major)", s->nr_major);
	} else if (s->nr_maps)
		fprintf(f, "%s mapped in %" PRIu64 " call%s, %s of it freed",
			UI_SIZE(v->ui, s->mapped_bytes), s->nr_maps, trace_plural(s->nr_maps),
			UI_SIZE(v->ui, s->freed_bytes));
	if (is_settled && (v->faults || s->nr_maps)) {
		if (!v->faults)
			fprintf(f, ", %s left", UI_SIZE(v->ui, s->left_bytes));
		fprintf(f, ", %s resident",
			UI_MARK(UI_SIZE(v->ui, s->resident_bytes), is_estimate));
	}
	if (s->swapped_bytes)
		fprintf(f, ", %s in swap", UI_SIZE(v->ui, s->swapped_bytes));
	if (s->huge_bytes)
		fprintf(f, ", %s in huge pages", UI_SIZE(v->ui, s->huge_bytes));
	if (s->nr_unmaps)
		fprintf(f, "%s%s unmapped in %" PRIu64 " call%s", s->nr_maps ? "; " : "",
			UI_SIZE(v->ui, s->unmapped_bytes), s->nr_unmaps,
			trace_plural(s->nr_unmaps));
	if (s->nr_discards)
		fprintf(f, "%s%s discarded in %" PRIu64 " call%s",
			s->nr_maps || s->nr_unmaps ? "; " : "", UI_SIZE(v->ui, s->discarded_bytes),
			s->nr_discards, trace_plural(s->nr_discards));
	if (s->nr_failed)
		fprintf(f, "%s%" PRIu64 " failed call%s",
			s->nr_maps || s->nr_unmaps || s->nr_discards ? "; " : "", s->nr_failed,
			trace_plural(s->nr_failed));
}

/* Print "anon, over 64 MiB 256.0 MiB (12.0 MiB resident)" for each class of a stack. */
static void
print_classes(const struct trace_view *v, const struct trace_row *row, FILE *f)
{
	const struct trace_program *p = row->program;
	bool is_first = true;

	for (size_t i = 0; i < p->classes.nr; i++) {
		const struct trace_class *c = &p->classes.v[i];

		if (c->stack != row->stack)
			continue;
		fprintf(f, "%s%s %s", is_first ? "  now: " : ", ", c->name,
			UI_SIZE(v->ui, c->bytes));
		if (c->resident_bytes != c->bytes)
			fprintf(f, " (%s resident)", UI_SIZE(v->ui, c->resident_bytes));
		is_first = false;
	}
	if (!is_first)
		fputc('\n', f);
}

static void
trace_print_row(const struct trace_view *v, const struct trace_row *row, FILE *f)
{
	const struct trace_program *p = row->program;
	const struct trace_stack *s = &p->stacks.v[row->stack];

	fputc('\n', f);
	if (v->trace->programs.nr > 1)
		fprintf(f, "%s %d: ", *p->comm ? p->comm : "?", (int)p->pid);
	trace_print_sums(v, row->sums, p->is_settled, f);
	fprintf(f, "%s\n", s->is_mallocs ? "  [malloc]" : "");
	print_classes(v, row, f);
	frames_print(p->profile, row->stack, &p->marks, s->end, f);
}

/* Report RSS growth above this size if mappings explain less than half of it. */
#define UNEXPLAINED_BYTES (INT64_C(32) << 20)

/* Print the change of RSS, compared with MAPPED_BYTES. */
static void
print_rss(const struct trace_view *v, uint64_t mapped_bytes, FILE *f)
{
	const struct trace *t = v->trace;
	const int64_t change = (int64_t)(t->rss_after_bytes - t->rss_before_bytes);
	char text[32];

	if (!t->rss_before_bytes || !t->rss_after_bytes)
		return;
	fprintf(f, "RSS %s -> %s (%s)\n", UI_SIZE(v->ui, t->rss_before_bytes),
		UI_SIZE(v->ui, t->rss_after_bytes),
		ui_size_change(v->ui, change, text, sizeof text));
	if (!v->faults && change >= UNEXPLAINED_BYTES && mapped_bytes < (uint64_t)change / 2)
		fprintf(f,
			"Most of it was mapped before: memdiag trace --rss -p %d shows which code "
			"touches it\n",
			(int)v->target->pid);
}

int
trace_print(const struct trace_view *v, struct ui_output *out, struct err *e)
{
	auto_free struct trace_row *owned = NULL;
	struct trace_rows rows = { 0 };
	struct trace_sums all;
	char duration[32];
	size_t nr;
	const int failed = sort_rows(&rows, v->trace, e);

	owned = rows.v;
	if (failed)
		return -1;
	all = sum_of_all(&rows);
	fprintf(out->f, "%s %d, %s: %zu stack%s", v->target->comm, (int)v->target->pid,
		ui_duration(v->trace->duration_ns, duration, sizeof duration), rows.nr,
		trace_plural(rows.nr));
	fputs(rows.nr ? "; " : v->faults ? "; no page fault" : "; no such call", out->f);
	if (rows.nr)
		trace_print_sums(v, &all, is_any_settled(v->trace), out->f);
	fputc('\n', out->f);
	print_rss(v, all.mapped_bytes, out->f);
	nr = v->limit && v->limit < rows.nr ? v->limit : rows.nr;
	for (size_t i = 0; i < nr; i++)
		trace_print_row(v, &rows.v[i], out->f);
	ui_print_more(out->f, rows.nr - nr);
	return 0;
}

/* ---- JSON ---- */

static json_t *
trace_number(uint64_t n)
{
	return ui_json_number(n);
}

static json_t *
sums_json(const struct trace_sums *s, bool is_settled, bool knows_huge)
{
	const struct {
		const char *name;
		uint64_t n;
		bool is_known;
	} members[] = {
		{ "map_calls", s->nr_maps, true },
		{ "mapped_bytes", s->mapped_bytes, true },
		{ "freed_bytes", s->freed_bytes, true },
		{ "unmap_calls", s->nr_unmaps, true },
		{ "unmapped_bytes", s->unmapped_bytes, true },
		{ "discard_calls", s->nr_discards, true },
		{ "discarded_bytes", s->discarded_bytes, true },
		{ "failed_calls", s->nr_failed, true },
		{ "minor_faults", s->nr_minor, true },
		{ "major_faults", s->nr_major, true },
		{ "touched_bytes", s->touched_bytes, true },
		{ "left_bytes", s->left_bytes, is_settled },
		{ "resident_bytes", s->resident_bytes, is_settled },
		{ "swapped_bytes", s->swapped_bytes, is_settled },
		{ "huge_bytes", s->huge_bytes, knows_huge },
	};
	json_t *o = json_object();

	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		json_object_set_new(o, members[i].name,
			members[i].is_known ? trace_number(members[i].n) : json_null());
	return o;
}

static json_t *
classes_json(const struct trace_row *row)
{
	const struct trace_program *p = row->program;
	json_t *list = json_array();

	for (size_t i = 0; i < p->classes.nr; i++)
		if (p->classes.v[i].stack == row->stack)
			json_array_append_new(list,
				json_pack("{s:s, s:o, s:o}", "name", p->classes.v[i].name, "bytes",
					trace_number(p->classes.v[i].bytes), "resident_bytes",
					trace_number(p->classes.v[i].resident_bytes)));
	return list;
}

static json_t *
trace_row_json(const struct trace_row *row)
{
	const struct trace_program *p = row->program;
	const struct trace_stack *s = &p->stacks.v[row->stack];
	json_t *o = sums_json(row->sums, p->is_settled, p->is_settled && p->knows_huge);

	json_object_set_new(o, "pid", json_integer(p->pid));
	json_object_set_new(o, "by_malloc", json_boolean(s->is_mallocs));
	json_object_set_new(o, "classes", classes_json(row));
	json_object_set_new(o, "end", json_string(stacks_end_names[s->end]));
	json_object_set_new(o, "frames", frames_json(p->profile, row->stack, &p->marks));
	return o;
}

json_t *
trace_events_json(const struct trace *t)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "seen", trace_number(t->nr_events),
		"lost_records", trace_number(t->nr_lost), "unpaired", trace_number(t->nr_unpaired),
		"cut_stacks", trace_number(t->nr_cut), "broken_stacks", trace_number(t->nr_broken),
		"missing_stacks", trace_number(t->nr_unknown));
}

static json_t *
programs_json(const struct trace *t)
{
	json_t *list = json_array();

	for (size_t i = 0; i < t->programs.nr; i++)
		json_array_append_new(list,
			json_pack("{s:i, s:o, s:b, s:b}", "pid", (int)t->programs.v[i]->pid, "name",
				ui_json_string(t->programs.v[i]->comm), "is_over",
				t->programs.v[i]->is_over, "is_unreadable",
				t->programs.v[i]->is_unreadable));
	return list;
}

/* The stacks to write. */
struct trace_writer {
	const struct trace_row *next, *end;
};

/* Return the next stack, or NULL: ui_json_print_with(). */
static json_t *
next_stack(void *arg)
{
	struct trace_writer *w = arg;

	return w->next < w->end ? trace_row_json(w->next++) : NULL;
}

const char *
trace_end_name(const struct trace *t)
{
	static const char *const why[] = { [TRACE_TIME_OVER] = "duration",
		[TRACE_ENOUGH] = "events",
		[TRACE_ASKED] = "signal",
		[TRACE_TARGET_ENDED] = "target-ended" };

	return why[t->why];
}

static void
set_data(json_t *data, const struct trace_view *v, const struct trace_rows *rows)
{
	const struct trace *t = v->trace;
	const struct trace_sums all = sum_of_all(rows);

	json_object_set_new(data, "kind", json_string(v->faults ? "faults" : "calls"));
	json_object_set_new(data, "duration_ns", trace_number(t->duration_ns));
	json_object_set_new(data, "ended_by", json_string(trace_end_name(t)));
	json_object_set_new(data, "min_bytes", trace_number(v->min_bytes));
	json_object_set_new(data, "period", trace_number(v->period));
	json_object_set_new(data, "events", trace_events_json(t));
	json_object_set_new(data, "rss_before_bytes",
		t->rss_before_bytes ? trace_number(t->rss_before_bytes) : json_null());
	json_object_set_new(data, "rss_after_bytes",
		t->rss_after_bytes ? trace_number(t->rss_after_bytes) : json_null());
	json_object_set_new(data, "programs", programs_json(t));
	json_object_set_new(data, "totals", sums_json(&all, is_any_settled(t), is_huge_known(t)));
	json_object_set_new(data, "stacks", json_array());
}

int
trace_print_json(const struct trace_view *v, json_t *document, struct ui_output *out, struct err *e)
{
	auto_free struct trace_row *owned = NULL;
	struct trace_rows rows = { 0 };
	const int failed = sort_rows(&rows, v->trace, e);
	struct trace_writer w = { .next = rows.v, .end = rows.v };

	owned = rows.v;
	if (failed)
		return -1;
	w.end += v->limit && v->limit < rows.nr ? v->limit : rows.nr;
	set_data(json_object_get(document, "data"), v, &rows);
	return ui_json_print_with(document, "stacks", next_stack, &w, out, e);
}
