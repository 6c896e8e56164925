#include <config.h>

#include "ui/table.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <errno.h>
#include <libsmartcols.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct ui_table {
	struct libscols_table *scols;
	struct libscols_column *last_text; /* the column that may be cut */
	struct libscols_line *row;	   /* the row being filled */
	size_t cell;			   /* its next cell */
	FILE *f;
	bool has_unknown;
};

static int
table_no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "cannot make a table");
}

struct ui_table *
ui_table_new(const struct ui_output *o)
{
	struct ui_table *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->scols = scols_new_table();
	if (!t->scols || scols_table_set_column_separator(t->scols, "  ") < 0) {
		ui_table_free(t);
		return NULL;
	}
	scols_table_set_stream(t->scols, o->f);
	t->f = o->f;
	/* Do not cut text except on a terminal: the reader may be a script. */
	scols_table_set_termforce(
		t->scols, o->is_terminal ? SCOLS_TERMFORCE_ALWAYS : SCOLS_TERMFORCE_NEVER);
	if (o->is_terminal)
		scols_table_set_termwidth(t->scols, (size_t)o->columns);
	return t;
}

void
ui_table_free(struct ui_table *t)
{
	if (!t)
		return;
	scols_unref_table(t->scols);
	free(t);
}

int
ui_table_column(struct ui_table *t, const char *name, bool is_right, struct err *e)
{
	struct libscols_column *c =
		scols_table_new_column(t->scols, name, 0, is_right ? SCOLS_FL_RIGHT : 0);

	if (!c)
		return table_no_memory(e);
	if (!is_right)
		t->last_text = c;
	return 0;
}

int
ui_table_row(struct ui_table *t, struct err *e)
{
	t->row = scols_table_new_line(t->scols, NULL);
	t->cell = 0;
	return t->row ? 0 : table_no_memory(e);
}

int
ui_table_cell(struct ui_table *t, const char *text, struct err *e)
{
	size_t size = strlen(text) * 4 + 2; /* each byte may become \ooo */
	auto_free char *printable = malloc(size);

	if (!printable ||
		scols_line_set_data(t->row, t->cell, text_printable(text, printable, size)) < 0)
		return table_no_memory(e);
	t->cell++;
	t->has_unknown |= strcmp(text, "?") == 0;
	return 0;
}

int
ui_table_cell_marked(struct ui_table *t, const char *text, bool is_guess, struct err *e)
{
	auto_free char *marked = NULL;

	if (!is_guess)
		return ui_table_cell(t, text, e);
	if (asprintf(&marked, "%s ?", text) < 0) {
		marked = NULL;
		return table_no_memory(e);
	}
	return ui_table_cell(t, marked, e);
}

int
ui_table_add(struct ui_table *t, struct err *e, ...)
{
	const char *text;
	int r = ui_table_row(t, e);
	va_list ap;

	va_start(ap, e);
	while (r == 0 && (text = va_arg(ap, const char *)))
		r = ui_table_cell(t, text, e);
	va_end(ap);
	return r;
}

int
ui_table_print(struct ui_table *t, struct err *e)
{
	if (t->last_text)
		scols_column_set_flags(t->last_text, SCOLS_FL_TRUNC);
	if (scols_print_table(t->scols) < 0)
		return table_no_memory(e);
	if (t->has_unknown)
		fputs(UI_UNKNOWN_LEGEND, t->f);
	return 0;
}

void
ui_print_more(FILE *f, size_t nr_more)
{
	if (nr_more)
		fprintf(f, "and %zu more; -n 0 shows all\n", nr_more);
}
