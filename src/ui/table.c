#include <config.h>

#include "ui/table.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "ui/cells.h"

#include <errno.h>
#include <libsmartcols.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Between columns. */
#define SEPARATOR "  "

struct ui_table {
	struct libscols_table *scols;
	struct libscols_column *last_text; /* the column that may be cut */
	size_t last_text_cell;		   /* its number */
	int *widths;			   /* of the widest cell of each column */
	size_t nr_columns;
	int columns;		   /* of the terminal; 0: it is no terminal, and nothing is cut */
	struct libscols_line *row; /* the row being filled */
	size_t cell;		   /* its next cell */
	FILE *f;
	bool has_unknown, use_colour;
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
	if (!t->scols || scols_table_set_column_separator(t->scols, SEPARATOR) < 0) {
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
	t->columns = o->is_terminal ? o->columns : 0;
	t->use_colour = o->use_colour;
	scols_table_enable_colors(t->scols, o->use_colour);
	return t;
}

void
ui_table_free(struct ui_table *t)
{
	if (!t)
		return;
	scols_unref_table(t->scols);
	free(t->widths);
	free(t);
}

int
ui_table_column(struct ui_table *t, const char *name, bool is_right, struct err *e)
{
	struct libscols_column *c =
		scols_table_new_column(t->scols, name, 0, is_right ? SCOLS_FL_RIGHT : 0);
	int *widths = c ? realloc(t->widths, (t->nr_columns + 1) * sizeof *widths) : NULL;

	if (!widths)
		return table_no_memory(e);
	t->widths = widths;
	if (!is_right) {
		t->last_text = c;
		t->last_text_cell = t->nr_columns;
	}
	widths[t->nr_columns++] = cells_width(name);
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
	if (t->columns && cells_width(printable) > t->widths[t->cell])
		t->widths[t->cell] = cells_width(printable);
	t->cell++;
	t->has_unknown |= strcmp(text, "?") == 0;
	return 0;
}

void
ui_table_mark(struct ui_table *t, enum ui_mark mark)
{
	static const char *const sequence[] = { [UI_BOLD] = "\033[1m", [UI_FAINT] = "\033[2m" };
	struct libscols_cell *cell =
		t->cell && t->use_colour ? scols_line_get_cell(t->row, t->cell - 1) : NULL;

	/* A cell that is not marked for lack of memory is still right. */
	if (cell && mark != UI_PLAIN)
		(void)scols_cell_set_color(cell, sequence[mark]);
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

/* Return the columns of the terminal that the other columns leave for the last text. */
static int
room_of_text(const struct ui_table *t)
{
	int room = t->columns;

	for (size_t i = 0; i < t->nr_columns; i++)
		room -= (i == t->last_text_cell ? 0 : t->widths[i]) +
			(i ? (int)strlen(SEPARATOR) : 0);
	return room;
}

/*
 * Leave out the middle of long texts: the ends of names and paths distinguish them.  If the other
 * columns leave almost no room, libsmartcols decides what is cut.
 */
static int
cut_texts(struct ui_table *t, struct err *e)
{
	const int room = room_of_text(t);
	struct libscols_iter *lines = scols_new_iter(SCOLS_ITER_FORWARD);
	struct libscols_line *line;
	int r = lines ? 0 : -1;

	while (r == 0 && scols_table_next_line(t->scols, lines, &line) == 0) {
		struct libscols_cell *cell = scols_line_get_cell(line, t->last_text_cell);
		const char *text = cell ? scols_cell_get_data(cell) : NULL;
		auto_free char *cut = NULL;

		if (!text || cells_width(text) <= room)
			continue;
		cut = cells_cut(text, room);
		r = cut ? scols_cell_set_data(cell, cut) : -1;
	}
	scols_free_iter(lines);
	return r < 0 ? table_no_memory(e) : 0;
}

/* Columns below which a text is not worth a cut of its own. */
#define LEAST_ROOM 12

int
ui_table_print(struct ui_table *t, struct err *e)
{
	if (t->last_text)
		scols_column_set_flags(t->last_text, SCOLS_FL_TRUNC);
	if (t->last_text && t->columns && room_of_text(t) >= LEAST_ROOM && cut_texts(t, e) < 0)
		return -1;
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
