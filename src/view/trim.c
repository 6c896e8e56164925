/* The text and JSON output of 'memdiag trim'. */
#include <config.h>

#include "view/trim.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "account/totals.h"
#include "base/cleanup.h"
#include "diagnose/trim-forecast.h"
#include "heap/arena.h"
#include "heap/heap.h"
#include "jemalloc/ask.h"
#include "ui/json.h"
#include "ui/output.h"
#include "ui/table.h"
#include "ui/units.h"
#include "view/borrow-report.h"
#include "view/checks.h"
#include "view/durations.h"
#include "view/info-jemalloc.h"

#define LEAD_COLUMNS 9 /* "CAVEAT   " */

/* ---- text: before and after ---- */

/* The approximate part of a row: nothing, the prediction, or all numbers. */
enum rough { SURE, ROUGH_AFTER, ROUGH };

static int
add_change(struct ui_table *table, const struct ui_options *opt, const char *name, uint64_t before,
	uint64_t after, enum rough rough, struct err *e)
{
	char change[32];

	return ui_table_add(table, e, name, UI_MARK(UI_SIZE(opt, before), rough == ROUGH),
		UI_MARK(UI_SIZE(opt, after), rough),
		UI_MARK(ui_size_change(opt, (int64_t)(after - before), change, sizeof change),
			rough),
		NULL);
}

static int
print_change(const struct trim *t, const struct moment *after, bool is_forecast,
	const char *const name[2], const struct ui_options *opt, struct ui_output *out,
	struct err *e)
{
	const struct moment *before = &t->before;
	enum rough predicted = is_forecast && t->forecast.nr_approximate ? ROUGH_AFTER : SURE;
	auto_table struct ui_table *table = ui_table_new(out);

	if (!table)
		return err_set(e, ENOMEM, "cannot make a table");
	if (ui_table_column(table, "", false, e) < 0 ||
		ui_table_column(table, name[0], true, e) < 0 ||
		ui_table_column(table, name[1], true, e) < 0 ||
		ui_table_column(table, "CHANGE", true, e) < 0 ||
		add_change(table, opt, "RSS", before->rss_bytes, after->rss_bytes, predicted, e) <
			0 ||
		add_change(table, opt, "swap", before->swap_bytes, after->swap_bytes, predicted,
			e) < 0)
		return -1;
	if (t->mt.is_jemalloc && !is_forecast &&
		add_change(table, opt, "free pages",
			t->jemalloc_before.dirty_bytes + t->jemalloc_before.muzzy_bytes,
			t->jemalloc_after.dirty_bytes + t->jemalloc_after.muzzy_bytes, SURE, e) < 0)
		return -1;
	if (before->has_arenas && after->has_arenas &&
		add_change(table, opt, "resident in arenas", before->arenas_bytes,
			after->arenas_bytes, t->checks.is_rough ? ROUGH : SURE, e) < 0)
		return -1;
	return ui_table_print(table, e);
}

static void
trim_print_head(const struct trim *t, size_t nr_arenas, const char *what, struct ui_output *out)
{
	fprintf(out->f, "%s %d, %zu arena%s%s\n", t->mt.target.comm, (int)t->mt.target.pid,
		nr_arenas, nr_arenas == 1 ? "" : "s", what);
}

/* Explain the marks, and list the numbers that do not agree. */
static void
print_trim_checks(const struct trim *t, bool has_rough, struct ui_output *out)
{
	if (has_rough)
		fputs(UI_ROUGH_LEGEND, out->f);
	checks_print(&t->checks, out->f);
}

/* Return the number of arenas, for any malloc. */
static size_t
nr_arenas(const struct trim *t)
{
	return t->mt.is_jemalloc ? t->jemalloc_before.nr_arenas + t->jemalloc_before.nr_unread
				 : t->mt.process.arenas.nr;
}

static int
print_done(
	const struct trim *t, const struct trim_options *opt, struct ui_output *out, struct err *e)
{
	static const char *const name[2] = { "BEFORE", "AFTER" };
	char borrow[80], locked[32];

	trim_print_head(t, nr_arenas(t), "", out);
	if (print_change(t, &t->after, false, name, &opt->ui, out, e) < 0)
		return -1;
	fprintf(out->f, "released %s; %s, %s for %s at most\n",
		UI_SIZE(&opt->ui, t->released_bytes),
		borrow_report_text(&t->report, borrow, sizeof borrow),
		t->mt.is_jemalloc ? "jemalloc purged" : "arenas were locked",
		ui_duration(t->report.call_ns, locked, sizeof locked));
	if (t->tops.bytes)
		fprintf(out->f,
			"with the tops of %zu thread arena%s, locked for %s at a time at most\n",
			t->nr_tops - t->tops.nr_busy, t->nr_tops - t->tops.nr_busy == 1 ? "" : "s",
			ui_duration(t->tops.longest_lock_ns, locked, sizeof locked));
	print_trim_checks(t, t->checks.is_rough, out);
	return 0;
}

void
trim_print_later(const struct trim *t, const struct trim_options *opt, struct ui_output *out)
{
	char later[32];

	fprintf(out->f, "%s later RSS is %s: %s came back\n",
		ui_duration(opt->recheck_ns, later, sizeof later),
		UI_SIZE(&opt->ui, t->later.rss_bytes), UI_SIZE(&opt->ui, t->came_back_bytes));
}

/* ---- text: the forecast ---- */

static int
trim_by_rss(const void *x, const void *y)
{
	const struct heap_arena *a = *(const struct heap_arena *const *)x;
	const struct heap_arena *b = *(const struct heap_arena *const *)y;

	if (a->trim.rss_bytes != b->trim.rss_bytes)
		return a->trim.rss_bytes < b->trim.rss_bytes ? 1 : -1;
	return a->nr < b->nr ? -1 : a->nr > b->nr;
}

static int
trim_add_arena(struct ui_table *table, const struct ui_options *ui, const struct heap *h,
	const struct heap_arena *a, struct err *e)
{
	bool rough = heap_arena_is_rough(a);
	char nr[16], lock[32];

	snprintf(nr, sizeof nr, "%u", a->nr);
	return ui_table_add(table, e, UI_MARK(nr, rough),
		UI_MARK(UI_SIZE(ui, a->trim.rss_bytes), rough),
		h->has_uss ? UI_MARK(UI_SIZE(ui, a->trim.uss_bytes), rough) : "?",
		UI_MARK(UI_SIZE(ui, a->trim.swap_bytes), rough),
		UI_MARK(ui_duration(a->trim.lock_ns, lock, sizeof lock), rough),
		UI_MARK(UI_SIZE(ui, a->page_bytes[HEAP_PAGE_TOP]), rough),
		heap_certainty_name(a->certainty), NULL);
}

/* Print the arenas, largest release first. */
static int
trim_print_arenas(
	const struct heap *h, const struct trim_options *opt, struct ui_output *out, struct err *e)
{
	static const char *const column[] = { "ARENA", "GIVES BACK", "UNSHARED", "SWAP",
		"LOCKED FOR", "THREAD TOP" };
	auto_table struct ui_table *table = ui_table_new(out);
	auto_free const struct heap_arena **order = malloc((h->arena.nr + 1) * sizeof *order);
	size_t nr = h->arena.nr, shown = opt->max_rows && opt->max_rows < nr ? opt->max_rows : nr;

	if (!table || !order)
		return err_set(e, ENOMEM, "cannot list the arenas");
	for (size_t i = 0; i < nr; i++)
		order[i] = &h->arena.v[i];
	qsort(order, nr, sizeof *order, trim_by_rss);
	for (size_t i = 0; i < sizeof column / sizeof *column; i++)
		if (ui_table_column(table, column[i], true, e) < 0)
			return -1;
	if (ui_table_column(table, "CERTAINTY", false, e) < 0)
		return -1;
	for (size_t i = 0; i < shown; i++)
		if (trim_add_arena(table, &opt->ui, h, order[i], e) < 0)
			return -1;
	fputc('\n', out->f);
	if (ui_table_print(table, e) < 0)
		return -1;
	if (shown < nr)
		fprintf(out->f, "and %zu more; --lines 0 shows all\n", nr - shown);
	return 0;
}

static int
print_forecast(
	const struct trim *t, const struct trim_options *opt, struct ui_output *out, struct err *e)
{
	static const char *const name[2] = { "NOW", "PREDICTED" };
	const struct forecast *f = &t->forecast;
	struct moment after = t->before;
	char all[32], longest[32];
	bool has_rough = false;
	struct caveat caveat[TRIM_CAVEATS];
	size_t nr;

	after.rss_bytes -= f->rss_bytes < after.rss_bytes ? f->rss_bytes : after.rss_bytes;
	after.swap_bytes -= f->swap_bytes < after.swap_bytes ? f->swap_bytes : after.swap_bytes;
	for (size_t i = 0; i < f->heap.arena.nr; i++)
		has_rough |= heap_arena_is_rough(&f->heap.arena.v[i]);
	trim_print_head(t, f->heap.arena.nr, "; nothing was changed", out);
	if (print_change(t, &after, true, name, &opt->ui, out, e) < 0 ||
		trim_print_arenas(&f->heap, opt, out, e) < 0)
		return -1;
	fprintf(out->f,
		"\nArenas would be locked for about %s in all, one of them for %s at most.\n"
		"If the program uses that memory again: %" PRIu64 " page fault%s.\n",
		ui_duration(f->lock_ns, all, sizeof all),
		ui_duration(f->longest_lock_ns, longest, sizeof longest), f->nr_faults,
		f->nr_faults == 1 ? "" : "s");
	if (f->tops_bytes && !opt->tops && t->has_tops)
		fprintf(out->f,
			"The ends of thread arenas stay, %s; --tops gives them back as well.\n",
			UI_SIZE(&opt->ui, f->tops_bytes));
	print_trim_checks(t, has_rough, out);
	nr = trim_caveats(t, opt, caveat);
	for (size_t i = 0; i < nr; i++) {
		char text[sizeof caveat->text + 32];

		fprintf(out->f, "%s%sCAVEAT%s   ", i ? "" : "\n",
			out->use_colour ? "\033[1;33m" : "", out->use_colour ? "\033[0m" : "");
		snprintf(text, sizeof text, "%s: %s", caveat[i].id, caveat[i].text);
		ui_wrap(out, LEAD_COLUMNS, text);
	}
	return 0;
}

/*
 * Print the forecast. jemalloc reports the number of free pages; how many are resident is unknown.
 */
static int
print_jemalloc_forecast(
	const struct trim *t, const struct trim_options *opt, struct ui_output *out, struct err *e)
{
	const struct jemalloc_stats *now = &t->jemalloc_before;
	static const char *const name[2] = { "NOW", "AT LEAST" };
	struct moment after = t->before;
	char borrow[80];

	after.rss_bytes -=
		t->forecast.rss_bytes < after.rss_bytes ? t->forecast.rss_bytes : after.rss_bytes;
	trim_print_head(t, nr_arenas(t), "; nothing was changed", out);
	if (print_change(t, &after, true, name, &opt->ui, out, e) < 0)
		return -1;
	fprintf(out->f,
		"jemalloc has %s in free pages that it could give back: dirty %s, muzzy %s; %s\n",
		UI_SIZE(&opt->ui, t->forecast.rss_bytes), UI_SIZE(&opt->ui, now->dirty_bytes),
		UI_SIZE(&opt->ui, now->muzzy_bytes),
		borrow_report_text(&t->report, borrow, sizeof borrow));
	return 0;
}

int
trim_print_text(
	const struct trim *t, const struct trim_options *opt, struct ui_output *out, struct err *e)
{
	if (t->mt.is_jemalloc && opt->dry_run)
		return print_jemalloc_forecast(t, opt, out, e);
	return opt->dry_run ? print_forecast(t, opt, out, e) : print_done(t, opt, out, e);
}

/* ---- JSON ---- */

static json_t *
trim_moment_json(const struct moment *m)
{
	json_t *o = json_pack("{s:I, s:I}", "rss_bytes", (json_int_t)m->rss_bytes, "swap_bytes",
		(json_int_t)m->swap_bytes);

	if (m->has_arenas)
		json_object_set_new(
			o, "arenas_resident_bytes", json_integer((json_int_t)m->arenas_bytes));
	return o;
}

static json_t *
later_json(const struct trim *t, const struct trim_options *opt)
{
	json_t *o = trim_moment_json(&t->later);

	json_object_set_new(o, "after_ms", json_integer((json_int_t)(opt->recheck_ns / 1000000)));
	json_object_set_new(o, "after_ns", json_integer((json_int_t)opt->recheck_ns));
	json_object_set_new(o, "came_back_bytes", json_integer((json_int_t)t->came_back_bytes));
	return o;
}

static json_t *
tops_json(const struct trim *t)
{
	json_t *o = json_pack("{s:I, s:I, s:I}", "count", (json_int_t)t->nr_tops, "busy",
		(json_int_t)t->tops.nr_busy, "virt_bytes", (json_int_t)t->tops.bytes);

	view_json_set_duration(o, "locked", t->tops.longest_lock_ns);
	return o;
}

static json_t *
done_json(const struct trim *t, const struct trim_options *opt)
{
	json_t *data = json_pack("{s:I, s:I, s:o, s:o, s:I, s:o}", "arenas",
		(json_int_t)nr_arenas(t), "arena_count", (json_int_t)nr_arenas(t), "before",
		trim_moment_json(&t->before), "after", trim_moment_json(&t->after),
		"released_bytes", (json_int_t)t->released_bytes, "borrow",
		borrow_report_json(&t->report));

	view_json_set_duration(data, "held", t->report.held_ns);
	view_json_set_duration(data, "locked", t->report.call_ns);
	json_object_set_new(data, "checks", checks_json(&t->checks));
	json_object_set_new(data, "arenas_approximate", json_boolean(t->checks.is_rough));
	if (opt->tops)
		json_object_set_new(data, "tops", tops_json(t));
	if (t->has_later)
		json_object_set_new(data, "recheck", later_json(t, opt));
	return data;
}

static json_t *
trim_arena_json(const struct heap *h, const struct heap_arena *a)
{
	json_t *o = json_pack("{s:i, s:b, s:o, s:s, s:I, s:I, s:I, s:I, s:o}", "index", (int)a->nr,
		"main", a->is_main, "address", ui_json_address(a->addr), "certainty",
		heap_certainty_name(a->certainty), "rss_bytes", (json_int_t)a->trim.rss_bytes,
		"swap_bytes", (json_int_t)a->trim.swap_bytes, "top_bytes",
		(json_int_t)a->page_bytes[HEAP_PAGE_TOP], "mlocked_bytes",
		(json_int_t)a->trim.mlocked_bytes, "huge_bytes",
		h->knows_huge ? ui_json_number(a->trim.huge_bytes) : json_null());

	view_json_set_duration(o, "lock", a->trim.lock_ns);
	if (h->has_uss)
		json_object_set_new(o, "uss_bytes", json_integer((json_int_t)a->trim.uss_bytes));
	if (*a->why)
		json_object_set_new(o, "why", ui_json_text(a->why));
	return o;
}

static json_t *
predicted_json(const struct forecast *f)
{
	json_t *list = json_array(), *o;

	for (size_t i = 0; i < f->heap.arena.nr; i++)
		json_array_append_new(list, trim_arena_json(&f->heap, &f->heap.arena.v[i]));
	o = json_pack("{s:I, s:I, s:I, s:I, s:s, s:o}", "rss_bytes", (json_int_t)f->rss_bytes,
		"swap_bytes", (json_int_t)f->swap_bytes, "page_faults", (json_int_t)f->nr_faults,
		"top_bytes", (json_int_t)f->tops_bytes, "certainty",
		heap_certainty_name(f->heap.certainty), "arenas", list);
	view_json_set_duration(o, "lock", f->lock_ns);
	view_json_set_duration(o, "longest_lock", f->longest_lock_ns);
	if (f->heap.has_uss)
		json_object_set_new(o, "uss_bytes", json_integer((json_int_t)f->uss_bytes));
	if (f->again_after_ns)
		json_object_set_new(o, "again",
			json_pack("{s:I, s:I, s:I}", "after_ms",
				(json_int_t)(f->again_after_ns / 1000000), "after_ns",
				(json_int_t)f->again_after_ns, "rss_bytes",
				(json_int_t)f->again_rss_bytes));
	return o;
}

static json_t *
caveats_json(const struct trim *t, const struct trim_options *opt)
{
	struct caveat caveat[TRIM_CAVEATS];
	size_t nr = trim_caveats(t, opt, caveat);
	json_t *list = json_array();

	for (size_t i = 0; i < nr; i++)
		json_array_append_new(list,
			json_pack("{s:s, s:I, s:s}", "id", caveat[i].id, "bytes",
				(json_int_t)caveat[i].bytes, "text", caveat[i].text));
	return list;
}

static json_t *
forecast_json(const struct trim *t, const struct trim_options *opt)
{
	const struct heap *h = &t->forecast.heap;
	json_t *stop = json_object();

	view_json_set_stop(stop, h->nr_stops, h->stopped_ns, h->longest_stop_ns);
	view_json_set_duration(stop, "total", h->stopped_ns);
	view_json_set_duration(stop, "longest", h->longest_stop_ns);
	return json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "arenas",
		(json_int_t)(t->mt.is_jemalloc ? nr_arenas(t) : h->arena.nr), "arena_count",
		(json_int_t)(t->mt.is_jemalloc ? nr_arenas(t) : h->arena.nr), "checks",
		checks_json(&t->checks), "before", trim_moment_json(&t->before), "predicted",
		predicted_json(&t->forecast), "caveats", caveats_json(t, opt), "stop", stop);
}

static void
set_allocator(json_t *data, const struct trim *t, const struct trim_options *opt)
{
	const struct malloc_target *mt = &t->mt;
	json_t *o = mt->is_jemalloc ? json_object() : json_null();

	json_object_set_new(data, "allocator", json_string(mt->is_jemalloc ? "jemalloc" : "glibc"));
	json_object_set_new(data, "jemalloc", o);
	if (!mt->is_jemalloc)
		return;
	json_object_set_new(o, "before", jemalloc_json(&mt->jemalloc, &t->jemalloc_before, -1));
	if (!opt->dry_run)
		json_object_set_new(
			o, "after", jemalloc_json(&mt->jemalloc, &t->jemalloc_after, -1));
}

json_t *
trim_to_json(const struct trim *t, const struct trim_options *opt, struct err *e)
{
	json_t *document = ui_json_new("trim", &t->mt.target);
	json_t *data = opt->dry_run ? forecast_json(t, opt) : done_json(t, opt);

	set_allocator(data, t, opt);
	if (json_object_set_new(document, "data", data) < 0) {
		json_decref(document);
		err_set(e, ENOMEM, "cannot write JSON");
		return NULL;
	}
	warnings_to_json(&t->warnings, document);
	return document;
}
