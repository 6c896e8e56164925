#include <config.h>

#include "report/json.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "report/format.h"
#include "report/frames.h"
#include "report/unnamed-text.h"
#include "ui/json.h"
#include "ui/ui.h"
#include "ui/warnings.h"

static json_t *
types_json(const struct report_view *v)
{
	json_t *list = json_array();

	for (size_t i = 0; i < v->p->types.nr; i++) {
		int64_t total = 0;

		for (size_t k = 0; k < v->p->samples.nr; k++)
			total = profile_sum(total, profile_values(v->p, k)[i]);
		json_array_append_new(list,
			json_pack("{s:o, s:o, s:I}", "name", ui_json_string(v->p->types.v[i].name),
				"unit", ui_json_string(v->p->types.v[i].unit), "total",
				(json_int_t)total));
	}
	return list;
}

/* Return S, or null for "". */
static json_t *
string_or_null(const char *s)
{
	return *s ? ui_json_string(s) : json_null();
}

static json_t *
json_row_json(const struct report_view *v, uint32_t i)
{
	const struct calls_node *n = &v->c->nodes.v[i];

	return json_pack("{s:o, s:o, s:o, s:o, s:I, s:I, s:f, s:f, s:o}", "name",
		ui_json_string(n->name), "file",
		v->c->options.by == CALLS_BY_OBJECT ? json_null() : string_or_null(n->file), "line",
		v->c->options.by == CALLS_BY_LINE && n->line ? json_integer(n->line) : json_null(),
		"object", string_or_null(n->object), "flat", (json_int_t)n->flat, "cum",
		(json_int_t)n->cum, "flat_share", calls_share(v->c, n->flat), "cum_share",
		calls_share(v->c, n->cum), "blocks",
		v->blocks ? json_integer(v->blocks->nodes.v[i].flat) : json_null());
}

static int
rows_json(const struct report_view *v, json_t *data, struct err *e)
{
	auto_free uint32_t *order = calls_order(v->c, v->by_cum);
	json_t *list = json_array();
	size_t nr = 0;

	if (!order || !list) {
		json_decref(list);
		return err_set(e, ENOMEM, "cannot write JSON");
	}
	for (size_t i = 0; i < v->c->nodes.nr; i++) {
		const struct calls_node *n = &v->c->nodes.v[order[i]];

		if ((n->flat || n->cum) && (nr++ < v->limit || !v->limit))
			json_array_append_new(list, json_row_json(v, order[i]));
	}
	json_object_set_new(data, "rows", list);
	json_object_set_new(data, "row_count", json_integer((json_int_t)nr));
	return 0;
}

static json_t *
json_threads_json(const struct report_view *v)
{
	json_t *list = json_array();

	for (size_t i = 0; i < v->c->threads.nr; i++) {
		const struct calls_group *g = &v->c->threads.v[i];
		const struct profile_thread *t = &v->p->threads.v[g->thread_1 - 1];

		json_array_append_new(list,
			json_pack("{s:o, s:o, s:I}", "tid",
				t->tid ? json_integer(t->tid) : json_null(), "name",
				string_or_null(t->name), "value", (json_int_t)g->value));
	}
	return list;
}

static json_t *
json_sizes_json(const struct report_view *v)
{
	json_t *list = json_array();

	for (size_t i = 0; i < v->c->sizes.nr; i++)
		json_array_append_new(list,
			json_pack("{s:o, s:I}", "size_bytes",
				ui_json_number(v->c->sizes.v[i].size_bytes), "value",
				(json_int_t)v->c->sizes.v[i].value));
	return list;
}

static json_t *
json_comments_json(const struct profile *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->comments.nr; i++)
		json_array_append_new(list, ui_json_string(p->comments.v[i]));
	return list;
}

static json_t *
json_amount_json(const struct amount *a)
{
	return json_pack(
		"{s:I, s:I}", "bytes", (json_int_t)a->bytes, "blocks", (json_int_t)a->blocks);
}

static json_t *
choice_json(const struct report_view *v)
{
	const struct history_choice *c = v->choice;

	if (!c)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "older_ns",
		c->has_age ? ui_json_number(c->age_ns) : json_null(), "min_bytes",
		c->min_bytes ? ui_json_number(c->min_bytes) : json_null(), "max_bytes",
		c->max_bytes != UINT64_MAX ? ui_json_number(c->max_bytes) : json_null(),
		"recorded_ns",
		v->chosen->is_of_memory ? json_null() : ui_json_number(v->chosen->now_ns),
		"certain", json_amount_json(&v->chosen->certain), "possible",
		json_amount_json(&v->chosen->possible), "unknown",
		json_amount_json(&v->chosen->unknown));
}

static json_t *
json_blocks_json(const struct report_view *v)
{
	json_t *list = json_array();

	for (size_t i = 0; i < v->addresses->nr; i++) {
		const struct report_block *b = &v->addresses->v[i];

		json_array_append_new(list,
			json_pack("{s:o, s:o, s:o, s:o}", "address", ui_json_address(b->at),
				"bytes", ui_json_number(b->bytes), "tid",
				b->tid ? json_integer(b->tid) : json_null(), "frames",
				frames_names_json(v->p, b->stack)));
	}
	return list;
}

int
report_to_json(const struct report_view *v, json_t *data, struct err *e)
{
	const struct profile_type *type = &v->p->types.v[v->c->options.type];

	json_object_set_new(data, "file", ui_json_string(v->file));
	json_object_set_new(data, "base", v->base ? ui_json_string(v->base) : json_null());
	json_object_set_new(data, "format", json_string(v->p->format ? v->p->format : ""));
	json_object_set_new(data, "types", types_json(v));
	json_object_set_new(data, "type", ui_json_string(type->name));
	json_object_set_new(data, "unit", ui_json_string(type->unit));
	json_object_set_new(data, "by", json_string(calls_by_names[v->c->options.by]));
	json_object_set_new(data, "total", json_integer(v->c->total));
	json_object_set_new(data, "shown", json_integer(v->c->shown));
	json_object_set_new(
		data, "blocks", v->blocks ? json_integer(v->blocks->shown) : json_null());
	json_object_set_new(data, "choice", choice_json(v));
	json_object_set_new(data, "addresses", v->addresses ? json_blocks_json(v) : json_null());
	json_object_set_new(data, "address_count",
		v->addresses ? ui_json_number(v->addresses->nr + v->addresses->nr_more)
			     : json_null());
	json_object_set_new(data, "stack_count", json_integer((json_int_t)v->c->nr_stacks));
	json_object_set_new(data, "period_bytes",
		v->p->period_bytes ? json_integer(v->p->period_bytes) : json_null());
	json_object_set_new(data, "comments", json_comments_json(v->p));
	json_object_set_new(data, "threads", json_threads_json(v));
	json_object_set_new(data, "sizes", json_sizes_json(v));
	return report_unnamed_json(v, data, e) < 0 ? -1 : rows_json(v, data, e);
}

static int
json_write(const struct report_view *v, struct ui_output *out, struct err *e)
{
	json_auto_t *document = ui_json_new("report", NULL);

	if (report_to_json(v, json_object_get(document, "data"), e) < 0)
		return -1;
	if (v->has_no_time)
		json_object_set_new(document, "generated_at", json_null());
	if (v->warnings)
		warnings_to_json(v->warnings, document);
	return ui_json_print(document, out, e);
}

const struct report_format report_format_json = { "json",
	FORMAT_TAKES_BLOCKS | FORMAT_TAKES_REPEATS | FORMAT_HAS_ROWS, 0, json_write };
