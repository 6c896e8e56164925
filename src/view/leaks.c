#include <config.h>

#include "view/leaks.h"

#include <errno.h>
#include <inttypes.h>

#include "base/text.h"
#include "census/leaks.h"
#include "ui/json.h"
#include "ui/table.h"
#include "ui/units.h"
#include "view/durations.h"

/* ---- text ---- */

static void
leaks_print_head(
	const struct ui_output *out, const struct ui_options *ui, const struct leaks_answer *s)
{
	const struct census *c = &s->census;
	const struct census_sum *all = &s->leaks.all;
	char file[256], stop[32];
	FILE *f = out->f;

	fprintf(f, "%s %d", s->target.comm, (int)s->target.pid);
	if (s->core)
		fprintf(f, "  core %s", text_printable(s->core, file, sizeof file));
	if (s->has_status)
		fprintf(f, "  RSS %s", UI_SIZE(ui, s->status.vm_rss_bytes));
	fprintf(f, "  in use %s in %" PRIu64 " blocks\n", UI_SIZE(ui, c->in_use.bytes),
		c->in_use.blocks);
	fprintf(f, "Unreachable: %s%s in %" PRIu64 " blocks", s->is_certain ? "" : "~",
		UI_SIZE(ui, all->bytes), all->blocks);
	if (all->blocks)
		fprintf(f, ", below %" PRIu64 " heads", s->leaks.heads);
	fputc('\n', f);
	if (s->heap.nr_stops)
		fprintf(f, "Roots: %zu threads, %s of memory; the process was stopped for %s\n",
			c->roots.nr_threads, UI_SIZE(ui, c->roots.bytes),
			ui_duration(s->heap.longest_stop_ns, stop, sizeof stop));
}

static int
leaks_print_row(struct ui_table *t, const struct ui_options *ui, const struct census_group *g,
	struct err *e)
{
	char heads[24], blocks[24], example[24];

	snprintf(heads, sizeof heads, "%" PRIu64, g->heads);
	snprintf(blocks, sizeof blocks, "%" PRIu64, g->all.blocks);
	snprintf(example, sizeof example, PRIraddr, g->example[0].v);
	return ui_table_add(t, e, UI_SIZE(ui, g->all.bytes), blocks, heads,
		UI_SIZE(ui, g->head_bytes), census_shape_name(g->shape), example, NULL);
}

static int
leaks_print_groups(struct ui_output *out, const struct ui_options *ui, const struct leaks_answer *s,
	size_t limit, struct err *e)
{
	static const char *const column[] = { "BYTES", "BLOCKS", "HEADS", "HEAD SIZE" };
	auto_table struct ui_table *t = ui_table_new(out);
	const size_t nr = s->leaks.group.nr, shown = limit && limit < nr ? limit : nr;

	if (!t)
		return err_set(e, ENOMEM, "cannot make a table");
	for (size_t i = 0; i < sizeof column / sizeof *column; i++)
		if (ui_table_column(t, column[i], true, e) < 0)
			return -1;
	if (ui_table_column(t, "SHAPE", false, e) < 0 ||
		ui_table_column(t, "EXAMPLE", false, e) < 0)
		return -1;
	for (size_t i = 0; i < shown; i++)
		if (leaks_print_row(t, ui, &s->leaks.group.v[i], e) < 0)
			return -1;
	fputc('\n', out->f);
	if (ui_table_print(t, e) < 0)
		return -1;
	ui_print_more(out->f, nr - shown);
	return 0;
}

int
leaks_show_text(struct ui_output *out, const struct ui_options *ui, const struct leaks_answer *s,
	size_t limit, struct err *e)
{
	leaks_print_head(out, ui, s);
	return s->leaks.group.nr ? leaks_print_groups(out, ui, s, limit, e) : 0;
}

/* ---- JSON ---- */

static json_t *
leaks_group_json(const struct census_group *g)
{
	json_t *examples = json_array();

	for (int i = 0; i < CENSUS_NR_EXAMPLES && g->example[i].v; i++)
		json_array_append_new(examples, ui_json_address(g->example[i]));
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "shape",
		census_shape_name(g->shape), "head_bytes", ui_json_number(g->head_bytes), "heads",
		ui_json_number(g->heads), "blocks", ui_json_number(g->all.blocks), "bytes",
		ui_json_number(g->all.bytes), "largest_blocks", ui_json_number(g->largest_blocks),
		"largest_bytes", ui_json_number(g->largest_bytes), "examples", examples);
}

static json_t *
leaks_sum_json(const struct census_sum *s)
{
	return json_pack("{s:o, s:o}", "blocks", ui_json_number(s->blocks), "bytes",
		ui_json_number(s->bytes));
}

static json_t *
leaks_roots_json(const struct census *c)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "bytes", ui_json_number(c->roots.bytes), "threads",
		ui_json_number(c->roots.nr_threads), "unread_bytes",
		ui_json_number(c->unread_bytes), "swapped_bytes", ui_json_number(c->swapped_bytes));
}

json_t *
leaks_to_json(const struct leaks_answer *s, struct err *e)
{
	json_t *document = ui_json_new("leaks", &s->target);
	json_t *data = json_object_get(document, "data"), *groups = json_array();
	json_t *stop = json_object();

	if (!data) {
		err_set(e, ENOMEM, "cannot write JSON");
		json_decref(groups);
		json_decref(stop);
		json_decref(document);
		return NULL;
	}
	for (size_t i = 0; i < s->leaks.group.nr; i++)
		json_array_append_new(groups, leaks_group_json(&s->leaks.group.v[i]));
	if (s->core)
		json_object_set_new(data, "core", ui_json_string(s->core));
	json_object_set_new(
		data, "certainty", json_string(s->is_certain ? "certain" : "approximate"));
	json_object_set_new(
		data, "why", *s->census.why ? ui_json_text(s->census.why) : json_null());
	json_object_set_new(data, "in_use", leaks_sum_json(&s->census.in_use));
	json_object_set_new(data, "unreachable", leaks_sum_json(&s->leaks.all));
	json_object_set_new(data, "heads", ui_json_number(s->leaks.heads));
	json_object_set_new(data, "roots", leaks_roots_json(&s->census));
	view_json_set_stop(stop, s->heap.nr_stops, s->heap.stopped_ns, s->heap.longest_stop_ns);
	json_object_set_new(data, "stop", stop);
	json_object_set_new(data, "groups", groups);
	warnings_to_json(&s->warnings, document);
	return document;
}
