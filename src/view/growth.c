#include <config.h>

#include "view/growth.h"

#include <errno.h>
#include <inttypes.h>

#include "ui/table.h"
#include "ui/units.h"

static bool
has_grown(const struct growth *g, size_t column)
{
	for (size_t i = 0; i < g->nr; i++)
		if (growth_change(&g->v[i], column))
			return true;
	return false;
}

static bool
growth_is_shown(const struct growth *g, size_t column)
{
	return !g->is_missing[column] && (!g->list->column[column].is_rare || has_grown(g, column));
}

/* Add the columns for both numbers of COLUMN, and for the change. */
static int
growth_add_both(struct ui_table *t, const struct growth_column *column, struct err *e)
{
	char title[64];

	snprintf(title, sizeof title, "%s WERE", column->title);
	return ui_table_column(t, title, true, e) < 0 || ui_table_column(t, "ARE", true, e) < 0 ||
			ui_table_column(t, "CHANGE", true, e) < 0
		? -1
		: 0;
}

static int
growth_add_columns(struct ui_table *t, const struct growth *g, struct err *e)
{
	for (size_t c = 0; c < growth_nr_columns(g->list); c++) {
		const struct growth_column *column = &g->list->column[c];

		if (!growth_is_shown(g, c))
			continue;
		if (g->list->has_both ? growth_add_both(t, column, e) < 0
				: growth_is_size(column)
				? ui_table_column(t, column->title, true, e) < 0
				: ui_table_column(t, "WERE", true, e) < 0 ||
					ui_table_column(t, "ARE", true, e) < 0)
			return -1;
	}
	return ui_table_column(t, g->list->title, false, e);
}

static int
growth_count_cell(struct ui_table *t, int64_t n, struct err *e)
{
	char text[32];

	snprintf(text, sizeof text, "%" PRId64, n);
	return ui_table_cell(t, text, e);
}

/* Add both numbers of column C of ROW, and the change. */
static int
growth_both_cells(struct ui_table *t, const struct growth *g, const struct growth_row *row,
	size_t c, const struct ui_options *ui, struct err *e)
{
	char change[32];

	if (!growth_is_size(&g->list->column[c])) {
		snprintf(change, sizeof change, "%+" PRId64, growth_change(row, c));
		return growth_count_cell(t, row->was[c], e) < 0 ||
				growth_count_cell(t, row->is[c], e) < 0 ||
				ui_table_cell(t, change, e) < 0
			? -1
			: 0;
	}
	ui_size_change(ui, growth_change(row, c), change, sizeof change);
	return ui_table_cell(t, UI_SIZE(ui, (uint64_t)row->was[c]), e) < 0 ||
			ui_table_cell(t, UI_SIZE(ui, (uint64_t)row->is[c]), e) < 0 ||
			ui_table_cell(t, change, e) < 0
		? -1
		: 0;
}

/* Add the name of ROW. */
static int
growth_name_cell(
	struct ui_table *t, const struct growth *g, const struct growth_row *row, struct err *e)
{
	const struct growth_list *list = g->list;
	const enum growth_state state = list->has_both ? growth_state(g, row) : GROWTH_CHANGED;
	char text[1024], buf[1024];
	const char *name = list->text ? list->text(row->from, buf, sizeof buf)
		: list->label	      ? list->label(row->name)
				      : row->name;

	if (state == GROWTH_NEW || state == GROWTH_GONE) {
		snprintf(text, sizeof text, "%s (%s)", name, state == GROWTH_NEW ? "new" : "gone");
		name = text;
	}
	return ui_table_cell_marked(t, name, row->is_guess, e);
}

static int
growth_print_row(struct ui_table *t, const struct growth *g, const struct growth_row *row,
	const struct ui_options *ui, struct err *e)
{
	char text[32];

	if (ui_table_row(t, e) < 0)
		return -1;
	for (size_t c = 0; c < growth_nr_columns(g->list); c++) {
		if (!growth_is_shown(g, c))
			continue;
		if (g->list->has_both) {
			if (growth_both_cells(t, g, row, c, ui, e) < 0)
				return -1;
		} else if (growth_is_size(&g->list->column[c])) {
			ui_size_change(ui, growth_change(row, c), text, sizeof text);
			if (ui_table_cell(t, text, e) < 0)
				return -1;
		} else if (growth_count_cell(t, row->was[c], e) < 0 ||
			growth_count_cell(t, row->is[c], e) < 0) {
			return -1;
		}
	}
	return growth_name_cell(t, g, row, e);
}

/* Print the names of columns that were not counted in both documents; false if all were. */
bool
growth_print_missing(const struct growth *g, FILE *f)
{
	const char *before = "Not compared, because it was not counted in both: ";

	for (size_t c = 0; c < growth_nr_columns(g->list); c++)
		if (g->is_missing[c]) {
			fprintf(f, "%s%s", before, g->list->column[c].title);
			before = ", ";
		}
	if (before[0] != ',')
		return false;
	fputs(".\n", f);
	return true;
}

int
growth_print(const struct growth *g, struct ui_output *out, const struct ui_options *ui,
	size_t limit, struct err *e)
{
	auto_table struct ui_table *t = ui_table_new(out);
	size_t nr_changed = 0;
	bool has_guess = false;

	if (!t)
		return err_set(e, ENOMEM, "cannot make a table");
	if (growth_add_columns(t, g, e) < 0)
		return -1;
	for (size_t i = 0; i < g->nr; i++) {
		if (!growth_is_changed(g, &g->v[i]) || (nr_changed++ >= limit && limit))
			continue;
		if (growth_print_row(t, g, &g->v[i], ui, e) < 0)
			return -1;
		has_guess |= g->v[i].is_guess;
	}
	if (ui_table_print(t, e) < 0)
		return -1;
	ui_print_more(out->f, limit && limit < nr_changed ? nr_changed - limit : 0);
	if (has_guess)
		fputs(UI_GUESS_LEGEND, out->f);
	return 0;
}

/* ---- JSON ---- */

static const char *
growth_state_name(enum growth_state state)
{
	static const char *const name[] = {
		[GROWTH_SAME] = "same",
		[GROWTH_CHANGED] = "changed",
		[GROWTH_NEW] = "new",
		[GROWTH_GONE] = "gone",
	};

	return name[state];
}

/* Set the members of O, the row ROW, that only lists with both numbers have. */
static void
growth_set_both(json_t *o, const struct growth *g, const struct growth_row *row)
{
	json_t *was = json_object(), *is = json_object();

	for (size_t c = 0; c < growth_nr_columns(g->list); c++) {
		const char *member = growth_column_name(&g->list->column[c]);

		json_object_set_new(was, member, json_integer(row->was[c]));
		json_object_set_new(is, member, json_integer(row->is[c]));
	}
	json_object_set_new(o, "state", json_string(growth_state_name(growth_state(g, row))));
	json_object_set_new(o, "was", was);
	json_object_set_new(o, "is", is);
	if (g->list->describe)
		g->list->describe(row->from, o);
}

json_t *
growth_to_json(const struct growth *g)
{
	json_t *list = json_array();

	for (size_t i = 0; i < g->nr; i++) {
		json_t *o = json_pack("{s:s}", "name", g->v[i].name);

		for (size_t c = 0; c < growth_nr_columns(g->list); c++)
			json_object_set_new(o, growth_column_name(&g->list->column[c]),
				g->is_missing[c] ? json_null()
						 : json_integer(growth_change(&g->v[i], c)));
		if (g->list->has_both)
			growth_set_both(o, g, &g->v[i]);
		json_array_append_new(list, o);
	}
	return list;
}
