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

static int
growth_add_columns(struct ui_table *t, const struct growth *g, struct err *e)
{
	for (size_t c = 0; c < growth_nr_columns(g->list); c++) {
		const struct growth_column *column = &g->list->column[c];

		if (!growth_is_shown(g, c))
			continue;
		if (growth_is_size(column) ? ui_table_column(t, column->title, true, e) < 0
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
		if (growth_is_size(&g->list->column[c])) {
			ui_size_change(ui, growth_change(row, c), text, sizeof text);
			if (ui_table_cell(t, text, e) < 0)
				return -1;
		} else if (growth_count_cell(t, row->was[c], e) < 0 ||
			growth_count_cell(t, row->is[c], e) < 0) {
			return -1;
		}
	}
	return ui_table_cell_marked(
		t, g->list->label ? g->list->label(row->name) : row->name, row->is_guess, e);
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

json_t *
growth_to_json(const struct growth *g)
{
	json_t *list = json_array();

	for (size_t i = 0; i < g->nr; i++) {
		json_t *o = json_pack("{s:s}", "name", g->v[i].name);

		for (size_t c = 0; c < growth_nr_columns(g->list); c++)
			json_object_set_new(o, g->list->column[c].member,
				g->is_missing[c] ? json_null()
						 : json_integer(growth_change(&g->v[i], c)));
		json_array_append_new(list, o);
	}
	return list;
}
