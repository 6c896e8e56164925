/* 'memdiag trim' for people and for programs. */
#include <config.h>

#include "cmd/trim.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define LEAD_COLUMNS 9	/* "CAVEAT   " */

/* ---- text: before and after ---- */

static int
add_change(struct ui_table *table, const struct ui_options *opt, const char *name, uint64_t before,
	uint64_t after, struct err *e)
{
	char change[32];

	return ui_table_add(table, e, name, UI_SIZE(opt, before), UI_SIZE(opt, after),
		ui_size_change(opt, (int64_t)(after - before), change, sizeof change), NULL);
}

static int
print_change(const struct moment *before, const struct moment *after, const char *const name[2],
	const struct ui_options *opt, struct ui_output *out, struct err *e)
{
	auto_table struct ui_table *table = ui_table_new(out);

	if (!table)
		return err_set(e, ENOMEM, "cannot make a table");
	if (ui_table_column(table, "", false, e) < 0 ||
		ui_table_column(table, name[0], true, e) < 0 ||
		ui_table_column(table, name[1], true, e) < 0 ||
		ui_table_column(table, "CHANGE", true, e) < 0 ||
		add_change(table, opt, "RSS", before->rss_bytes, after->rss_bytes, e) < 0 ||
		add_change(table, opt, "swap", before->swap_bytes, after->swap_bytes, e) < 0)
		return -1;
	if (before->has_arenas && after->has_arenas &&
		add_change(table, opt, "resident in arenas", before->arenas_bytes,
			after->arenas_bytes, e) < 0)
		return -1;
	return ui_table_print(table, e);
}

static void
print_head(const struct trim *t, size_t nr_arenas, const char *what, struct ui_output *out)
{
	fprintf(out->f, "%s %d, %zu arena%s%s\n", t->mt.target.comm, (int)t->mt.target.pid,
		nr_arenas, nr_arenas == 1 ? "" : "s", what);
}

static int
print_done(const struct trim *t, const struct trim_options *opt, struct ui_output *out,
	struct err *e)
{
	static const char *const name[2] = { "BEFORE", "AFTER" };
	char borrow[80], locked[32];

	print_head(t, t->mt.arenas.nr, "", out);
	if (print_change(&t->before, &t->after, name, &opt->ui, out, e) < 0)
		return -1;
	fprintf(out->f, "released %s; %s, arenas were locked for %s at most\n",
		UI_SIZE(&opt->ui, t->released_bytes),
		borrow_text(&t->report, borrow, sizeof borrow),
		ui_duration(t->report.call_ns, locked, sizeof locked));
	if (t->tops.bytes)
		fprintf(out->f, "with the tops of %zu thread arena%s, locked for %s at a time at most\n",
			t->nr_tops - t->tops.nr_busy, t->nr_tops - t->tops.nr_busy == 1 ? "" : "s",
			ui_duration(t->tops.longest_lock_ns, locked, sizeof locked));
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
by_rss(const void *x, const void *y)
{
	const struct heap_arena *a = *(const struct heap_arena *const *)x;
	const struct heap_arena *b = *(const struct heap_arena *const *)y;

	if (a->trim.rss_bytes != b->trim.rss_bytes)
		return a->trim.rss_bytes < b->trim.rss_bytes ? 1 : -1;
	return a->nr < b->nr ? -1 : a->nr > b->nr;
}

static int
add_arena(struct ui_table *table, const struct ui_options *ui, const struct heap *h,
	const struct heap_arena *a, struct err *e)
{
	char nr[16], lock[32];

	snprintf(nr, sizeof nr, "%u", a->nr);
	return ui_table_add(table, e, nr, UI_SIZE(ui, a->trim.rss_bytes),
		h->has_uss ? UI_SIZE(ui, a->trim.uss_bytes) : "?",
		UI_SIZE(ui, a->trim.swap_bytes),
		ui_duration(a->trim.lock_ns, lock, sizeof lock),
		UI_SIZE(ui, a->page_bytes[HEAP_PAGE_TOP]), heap_certainty_name(a->certainty), NULL);
}

/* The arenas that most goes back from come first. */
static int
print_arenas(const struct heap *h, const struct trim_options *opt, struct ui_output *out,
	struct err *e)
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
	qsort(order, nr, sizeof *order, by_rss);
	for (size_t i = 0; i < sizeof column / sizeof *column; i++)
		if (ui_table_column(table, column[i], true, e) < 0)
			return -1;
	if (ui_table_column(table, "CERTAINTY", false, e) < 0)
		return -1;
	for (size_t i = 0; i < shown; i++)
		if (add_arena(table, &opt->ui, h, order[i], e) < 0)
			return -1;
	fputc('\n', out->f);
	if (ui_table_print(table, e) < 0)
		return -1;
	if (shown < nr)
		fprintf(out->f, "and %zu more; --lines 0 shows all\n", nr - shown);
	return 0;
}

static void
print_caveats(const struct trim *t, const struct trim_options *opt, struct ui_output *out)
{
	struct caveat caveat[TRIM_CAVEATS];
	size_t nr = trim_caveats(t, opt, caveat);

	for (size_t i = 0; i < nr; i++) {
		char text[sizeof caveat->text + 32];

		fprintf(out->f, "%s%sCAVEAT%s   ", i ? "" : "\n",
			out->use_colour ? "\033[1;33m" : "", out->use_colour ? "\033[0m" : "");
		snprintf(text, sizeof text, "%s: %s", caveat[i].id, caveat[i].text);
		ui_wrap(out, LEAD_COLUMNS, text);
	}
}

static int
print_forecast(const struct trim *t, const struct trim_options *opt, struct ui_output *out,
	struct err *e)
{
	static const char *const name[2] = { "NOW", "PREDICTED" };
	const struct forecast *f = &t->forecast;
	struct moment after = t->before;
	char all[32], longest[32];

	after.rss_bytes -= f->rss_bytes < after.rss_bytes ? f->rss_bytes : after.rss_bytes;
	after.swap_bytes -= f->swap_bytes < after.swap_bytes ? f->swap_bytes : after.swap_bytes;
	print_head(t, f->heap.arena.nr, "; nothing was changed", out);
	if (print_change(&t->before, &after, name, &opt->ui, out, e) < 0 ||
		print_arenas(&f->heap, opt, out, e) < 0)
		return -1;
	fprintf(out->f,
		"\nArenas would be locked for about %s in all, one of them for %s at most.\n"
		"If the program uses that memory again: %" PRIu64 " page fault%s.\n",
		ui_duration(f->lock_ns, all, sizeof all),
		ui_duration(f->longest_lock_ns, longest, sizeof longest), f->nr_faults,
		f->nr_faults == 1 ? "" : "s");
	if (f->tops_bytes && !opt->tops)
		fprintf(out->f,
			"The ends of thread arenas stay, %s; --tops gives them back as well.\n",
			UI_SIZE(&opt->ui, f->tops_bytes));
	print_caveats(t, opt, out);
	return 0;
}

int
trim_print_text(const struct trim *t, const struct trim_options *opt, struct ui_output *out,
	struct err *e)
{
	return opt->dry_run ? print_forecast(t, opt, out, e) : print_done(t, opt, out, e);
}

/* ---- JSON ---- */

static json_t *
moment_json(const struct moment *m)
{
	json_t *o = json_pack("{s:I, s:I}", "rss_bytes", (json_int_t)m->rss_bytes, "swap_bytes",
		(json_int_t)m->swap_bytes);

	if (m->has_arenas)
		json_object_set_new(o, "arenas_resident_bytes",
			json_integer((json_int_t)m->arenas_bytes));
	return o;
}

static json_t *
later_json(const struct trim *t, const struct trim_options *opt)
{
	json_t *o = moment_json(&t->later);

	json_object_set_new(o, "after_ms", json_integer((json_int_t)(opt->recheck_ns / 1000000)));
	json_object_set_new(o, "came_back_bytes", json_integer((json_int_t)t->came_back_bytes));
	return o;
}

static json_t *
tops_json(const struct trim *t)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "count", (json_int_t)t->nr_tops, "busy",
		(json_int_t)t->tops.nr_busy, "virt_bytes", (json_int_t)t->tops.bytes, "locked_us",
		(json_int_t)(t->tops.longest_lock_ns / 1000));
}

static json_t *
done_json(const struct trim *t, const struct trim_options *opt)
{
	json_t *data = json_pack("{s:I, s:o, s:o, s:I, s:I, s:I, s:o}", "arenas",
		(json_int_t)t->mt.arenas.nr, "before", moment_json(&t->before), "after",
		moment_json(&t->after), "released_bytes", (json_int_t)t->released_bytes, "held_us",
		(json_int_t)(t->report.held_ns / 1000), "locked_us",
		(json_int_t)(t->report.call_ns / 1000), "borrow", borrow_json(&t->report));

	if (opt->tops)
		json_object_set_new(data, "tops", tops_json(t));
	if (t->has_later)
		json_object_set_new(data, "recheck", later_json(t, opt));
	return data;
}

static json_t *
arena_json(const struct heap *h, const struct heap_arena *a)
{
	json_t *o = json_pack("{s:i, s:b, s:o, s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "index",
		(int)a->nr, "main", a->is_main, "address", ui_json_address(a->addr), "certainty",
		heap_certainty_name(a->certainty), "rss_bytes", (json_int_t)a->trim.rss_bytes,
		"swap_bytes", (json_int_t)a->trim.swap_bytes, "lock_us",
		(json_int_t)(a->trim.lock_ns / 1000), "top_bytes",
		(json_int_t)a->page_bytes[HEAP_PAGE_TOP], "mlocked_bytes",
		(json_int_t)a->trim.mlocked_bytes, "huge_bytes", (json_int_t)a->trim.huge_bytes);

	if (h->has_uss)
		json_object_set_new(o, "uss_bytes", json_integer((json_int_t)a->trim.uss_bytes));
	if (*a->why)
		json_object_set_new(o, "why", ui_json_string(a->why));
	return o;
}

static json_t *
predicted_json(const struct forecast *f)
{
	json_t *list = json_array(), *o;

	for (size_t i = 0; i < f->heap.arena.nr; i++)
		json_array_append_new(list, arena_json(&f->heap, &f->heap.arena.v[i]));
	o = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:o}", "rss_bytes", (json_int_t)f->rss_bytes,
		"swap_bytes", (json_int_t)f->swap_bytes, "lock_us", (json_int_t)(f->lock_ns / 1000),
		"longest_lock_us", (json_int_t)(f->longest_lock_ns / 1000), "page_faults",
		(json_int_t)f->nr_faults, "top_bytes", (json_int_t)f->tops_bytes, "certainty", heap_certainty_name(f->heap.certainty),
		"arenas", list);
	if (f->heap.has_uss)
		json_object_set_new(o, "uss_bytes", json_integer((json_int_t)f->uss_bytes));
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

	return json_pack("{s:I, s:o, s:o, s:o, s:{s:i, s:I, s:I}}", "arenas",
		(json_int_t)h->arena.nr, "before", moment_json(&t->before), "predicted",
		predicted_json(&t->forecast), "caveats", caveats_json(t, opt), "stop", "count",
		(int)h->nr_stops, "total_us", (json_int_t)(h->stopped_ns / 1000), "longest_us",
		(json_int_t)(h->longest_stop_ns / 1000));
}

int
trim_print_json(const struct trim *t, const struct trim_options *opt, struct ui_output *out,
	struct err *e)
{
	json_t *document = ui_json_new("trim", &t->mt.target);
	json_t *data = opt->dry_run ? forecast_json(t, opt) : done_json(t, opt);
	int r;

	if (json_object_set_new(document, "data", data) < 0) {
		r = err_set(e, ENOMEM, "cannot write JSON");
	} else {
		warnings_add_to(&t->warnings, document);
		r = ui_json_print(document, out, e);
	}
	json_decref(document);
	return r;
}
