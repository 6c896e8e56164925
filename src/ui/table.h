/*
 * table: tables of text.
 */
#ifndef MEMDIAG_UI_TABLE_H
#define MEMDIAG_UI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "ui/ui.h"

/* A plain table: declare the columns, then fill rows cell by cell, left to right. */
struct ui_table;

struct ui_table *ui_table_new(const struct ui_output *o);
void ui_table_free(struct ui_table *t);
static inline void
ui_table_cleanup(struct ui_table **t)
{
	ui_table_free(*t);
}
#define auto_table __attribute__((cleanup(ui_table_cleanup)))

/* Add a column; numbers are right-aligned.  The last text column may be cut on a terminal. */
int ui_table_column(struct ui_table *t, const char *name, bool is_right, struct err *e);
/* Begin a row; then call ui_table_cell() for each column.  Text is made printable. */
int ui_table_row(struct ui_table *t, struct err *e);
int ui_table_cell(struct ui_table *t, const char *text, struct err *e);
/* As ui_table_cell(), marked as a guess if IS_GUESS; then print UI_GUESS_LEGEND below the table. */
int ui_table_cell_marked(struct ui_table *t, const char *text, bool is_guess, struct err *e);
/* Add a row: its cells, then NULL. */
int ui_table_add(struct ui_table *t, struct err *e, ...) __attribute__((sentinel));
/* Mark the cell that was added last, if the output has colours. */
enum ui_mark { UI_PLAIN, UI_BOLD, UI_FAINT };
void ui_table_mark(struct ui_table *t, enum ui_mark mark);
int ui_table_print(struct ui_table *t, struct err *e);
/* Below a table cut by --lines, print that NR_MORE rows follow; nothing for 0. */
void ui_print_more(FILE *f, size_t nr_more);

#endif
