#include <config.h>

#include "view/types.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "ui/table.h"
#include "ui/units.h"
#include "view/census.h"
#include "view/diff.h"
#include "view/type-groups.h"
#include "view/type-name.h"

/* ---- text ---- */

static void
types_print_share(const struct ui_output *out, const struct ui_options *ui, const char *what,
	const struct census_sum *sum, uint64_t all, const char *note)
{
	fprintf(out->f, "  %-10s %10s %5.1f%%  %s\n", what, UI_SIZE(ui, sum->bytes),
		all ? 100.0 * (double)sum->bytes / (double)all : 0, note);
}

static void
types_print_head(const struct ui_output *out, const struct ui_options *ui,
	const struct census_answer *s, const struct census_known *k)
{
	const uint64_t all = s->census.in_use.bytes;

	view_census_head(out, ui, s);
	fprintf(out->f, ", unknown %.1f%%\n",
		all ? 100.0 * (double)k->unknown.bytes / (double)all : 0);
	types_print_share(out, ui, "proven", &k->proven, all, "blocks that show their type");
	types_print_share(out, ui, "inferred", &k->inferred, all, "blocks that these lead to");
	types_print_share(
		out, ui, "global", &k->global, all, "others that global variables lead to");
	types_print_share(out, ui, "unknown", &k->unknown, all, "all other blocks");
}

/* ---- objects in pools ---- */

static int
types_by_pooled(const void *a, const void *b)
{
	const struct census_type_row *const *x = a, *const *y = b;
	const uint64_t x_bytes = (*x)->pooled.bytes, y_bytes = (*y)->pooled.bytes;

	if (x_bytes != y_bytes)
		return x_bytes > y_bytes ? -1 : 1;
	return ((*x)->type > (*y)->type) - ((*x)->type < (*y)->type);
}

static int
types_add_pooled(struct ui_table *t, const struct ui_options *ui, const struct census_sum *sum,
	const char *name, struct err *e)
{
	char objects[24], printable[TYPE_NAME_BYTES];

	snprintf(objects, sizeof objects, "%" PRIu64, sum->blocks);
	text_printable(name, printable, sizeof printable);
	return ui_table_add(t, e, UI_SIZE(ui, sum->bytes), objects, printable, NULL);
}

/* Fill T with the types that have most in pools.  *RET_MORE: those that are left out. */
static int
types_fill_pooled(struct ui_table *t, const struct ui_options *ui, const struct census_answer *s,
	const struct census_type_sums *sums, size_t limit, size_t *ret_more, struct err *e)
{
	auto_free const struct census_type_row **row = calloc(sums->row.nr + 1, sizeof *row);
	size_t nr = 0, shown;

	if (!row)
		return err_set(e, ENOMEM, "cannot make a table");
	for (size_t i = 0; i < sums->row.nr; i++)
		if (sums->row.v[i].pooled.blocks)
			row[nr++] = &sums->row.v[i];
	qsort(row, nr, sizeof *row, types_by_pooled);
	shown = limit && limit < nr ? limit : nr;
	*ret_more = nr - shown;
	for (size_t i = 0; i < shown; i++)
		if (types_add_pooled(
			    t, ui, &row[i]->pooled, s->types.type.v[row[i]->type].name, e) < 0)
			return -1;
	if (s->census.pooled.v[CENSUS_NO_TYPE].blocks)
		return types_add_pooled(
			t, ui, &s->census.pooled.v[CENSUS_NO_TYPE], TYPE_NAME_NO_OBJECT, e);
	return 0;
}

static int
types_print_pooled(struct ui_output *out, const struct ui_options *ui,
	const struct census_answer *s, const struct census_type_sums *sums, size_t limit,
	struct err *e)
{
	auto_table struct ui_table *t = ui_table_new(out);
	const struct census *c = &s->census;
	size_t more = 0;

	if (!c->pooled.all.blocks)
		return 0;
	fputc('\n', out->f);
	fprintf(out->f,
		"In CPython's pools, which are not malloc's: %s in %" PRIu64 " objects, %s free\n",
		UI_SIZE(ui, c->pooled.all.bytes), c->pooled.all.blocks,
		UI_SIZE(ui, c->pooled.free_bytes));
	if (!t || ui_table_column(t, "BYTES", true, e) < 0 ||
		ui_table_column(t, "OBJECTS", true, e) < 0 ||
		ui_table_column(t, "TYPE", false, e) < 0)
		return err_set(e, ENOMEM, "cannot make a table");
	if (types_fill_pooled(t, ui, s, sums, limit, &more, e) < 0 || ui_table_print(t, e) < 0)
		return -1;
	ui_print_more(out->f, more);
	return 0;
}

/* ---- the table ---- */

static int
types_print_row(struct ui_table *t, const struct ui_options *ui, const struct census_type *type,
	const struct census_type_row *row, struct err *e)
{
	auto_free char *name = type_name_of(type);
	char blocks[24], printable[TYPE_NAME_BYTES], module[TYPE_NAME_BYTES];

	if (!name)
		return err_set(e, ENOMEM, "cannot make a table");
	snprintf(blocks, sizeof blocks, "%" PRIu64, row->own.blocks);
	return ui_table_add(t, e, UI_SIZE(ui, row->own.bytes), UI_SIZE(ui, row->below.bytes),
		blocks, census_evidence_name(type->evidence),
		text_printable(type_name_module(type->path), module, sizeof module),
		text_printable(name, printable, sizeof printable), NULL);
}

/* Return how many rows have blocks: others have only objects in pools. */
static size_t
types_with_blocks(const struct census_type_sums *sums)
{
	size_t nr = 0;

	while (nr < sums->row.nr && sums->row.v[nr].own.bytes + sums->row.v[nr].below.bytes)
		nr++;
	return nr;
}

static int
types_print_table(struct ui_output *out, const struct ui_options *ui, const struct census_answer *s,
	const struct census_type_sums *sums, size_t limit, struct err *e)
{
	static const char *const right[] = { "BYTES", "BELOW", "BLOCKS" };
	static const char *const left[] = { "BY", "MODULE", "TYPE" };
	auto_table struct ui_table *t = ui_table_new(out);
	const size_t nr = types_with_blocks(sums), shown = limit && limit < nr ? limit : nr;

	if (!t)
		return err_set(e, ENOMEM, "cannot make a table");
	for (int i = 0; i < 3; i++)
		if (ui_table_column(t, right[i], true, e) < 0)
			return -1;
	for (int i = 0; i < 3; i++)
		if (ui_table_column(t, left[i], false, e) < 0)
			return -1;
	for (size_t i = 0; i < shown; i++)
		if (types_print_row(
			    t, ui, &s->types.type.v[sums->row.v[i].type], &sums->row.v[i], e) < 0)
			return -1;
	if (!nr)
		return 0;
	fputc('\n', out->f);
	if (ui_table_print(t, e) < 0)
		return -1;
	ui_print_more(out->f, nr - shown);
	return 0;
}

int
types_show_text(struct ui_output *out, const struct ui_options *ui, const struct types_report *r,
	struct err *e)
{
	types_print_head(out, ui, r->of, &r->sums->known);
	if (r->groups->by != CENSUS_BY_TYPE)
		return type_groups_show_text(out, ui, r, e);
	return types_print_table(out, ui, r->of, r->sums, r->limit, e) < 0
		? -1
		: types_print_pooled(out, ui, r->of, r->sums, r->limit, e);
}

int
types_show_changes(struct ui_output *out, const struct ui_options *ui, const struct types_report *r,
	const struct saved_pair *p, struct err *e)
{
	types_print_head(out, ui, r->of, &r->sums->known);
	fputc('\n', out->f);
	return diff_show_changes(out, ui, p, r->limit, e);
}

/* ---- JSON ---- */

static json_t *
types_pools_json(const struct census *c)
{
	static const struct census_sum zero;

	return json_pack("{s:o, s:o, s:o}", "objects", view_census_sum(&c->pooled.all), "untyped",
		view_census_sum(c->pooled.nr ? &c->pooled.v[CENSUS_NO_TYPE] : &zero), "free_bytes",
		ui_json_number(c->pooled.free_bytes));
}

static json_t *
types_row_json(const struct census_type *type, const struct census_type_row *row)
{
	json_t *o = type_name_to_json(type), *examples = json_array();

	for (int i = 0; i < CENSUS_TYPE_EXAMPLES && row->example[i].v; i++)
		json_array_append_new(examples, ui_json_address(row->example[i]));
	json_object_set_new(o, "blocks", ui_json_number(row->own.blocks));
	json_object_set_new(o, "bytes", ui_json_number(row->own.bytes));
	json_object_set_new(o, "below", view_census_sum(&row->below));
	json_object_set_new(o, "pooled", view_census_sum(&row->pooled));
	json_object_set_new(o, "inner_blocks", ui_json_number(row->inner_blocks));
	json_object_set_new(o, "largest_bytes", ui_json_number(row->largest_bytes));
	json_object_set_new(o, "examples", examples);
	return o;
}

json_t *
types_to_json(const struct types_report *r, struct err *e)
{
	json_t *data, *groups = NULL, *types = json_array();
	json_auto_t *document = view_census_document("types", r->of, &data, e);

	if (document && r->groups->by != CENSUS_BY_TYPE)
		groups = type_groups_to_json(r, e);
	if (!document || (r->groups->by != CENSUS_BY_TYPE && !groups)) {
		json_decref(types);
		return NULL;
	}
	for (size_t i = 0; i < r->sums->row.nr; i++)
		json_array_append_new(types,
			types_row_json(
				&r->of->types.type.v[r->sums->row.v[i].type], &r->sums->row.v[i]));
	view_census_set_known(data, &r->sums->known);
	json_object_set_new(data, "pools", types_pools_json(&r->of->census));
	json_object_set_new(data, "by", json_string(census_by_names[r->groups->by]));
	if (groups)
		json_object_set_new(data, "groups", groups);
	json_object_set_new(data, "types", types);
	warnings_to_json(&r->of->warnings, document);
	return json_incref(document);
}
