#include <config.h>

#include "view/batch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ui/json.h"
#include "ui/table.h"
#include "ui/units.h"

/* ---- numbers ---- */

/* Return the row of LIST whose "kind" is KIND. */
static json_t *
row_of_kind(json_t *list, const char *kind)
{
	json_t *row;
	size_t i;

	json_array_foreach(list, i, row)
	{
		const char *name = json_string_value(json_object_get(row, "kind"));

		if (name && strcmp(name, kind) == 0)
			return row;
	}
	return NULL;
}

/* Return the number at PATH in DOCUMENT; NULL if unknown. */
static json_t *
number_at(json_t *document, const char *path)
{
	json_t *at = document;
	char part[64];

	while (at && *path) {
		size_t len = strcspn(path, ".");

		snprintf(part, sizeof part, "%.*s", (int)len, path);
		at = json_is_array(at) ? row_of_kind(at, part) : json_object_get(at, part);
		path += len + (path[len] == '.');
	}
	return json_is_integer(at) ? at : NULL;
}

/* Compute the sum over DOCUMENTS; return false if a document lacks the number. */
static bool
sum_of(json_t *documents, const char *path, json_int_t *ret)
{
	json_int_t sum = 0;
	json_t *document;
	size_t i;

	json_array_foreach(documents, i, document)
	{
		json_t *n = number_at(document, path);

		if (!n)
			return false;
		sum += json_integer_value(n);
	}
	*ret = sum;
	return true;
}

/* ---- text ---- */

static int
number_cell(struct ui_table *t, const struct ui_options *ui, const struct batch_column *column,
	bool is_known, json_int_t n, struct err *e)
{
	char text[32] = "?";

	if (is_known && column->unit == BATCH_COUNT)
		snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, n);
	else if (is_known && column->unit == BATCH_NS)
		ui_duration((uint64_t)n, text, sizeof text);
	else if (is_known && n < 0)
		ui_size_change(ui, n, text, sizeof text);
	else if (is_known)
		ui_size(ui, (uint64_t)n, text, sizeof text);
	return ui_table_cell(t, text, e);
}

static int
batch_add_columns(struct ui_table *t, const struct batch_column *columns, struct err *e)
{
	if (ui_table_column(t, "PID", true, e) < 0)
		return -1;
	for (; columns->title; columns++)
		if (ui_table_column(t, columns->title, true, e) < 0)
			return -1;
	return ui_table_column(t, "NAME", false, e);
}

static int
batch_add_process(struct ui_table *t, const struct ui_options *ui,
	const struct batch_column *columns, json_t *document, struct err *e)
{
	json_t *target = json_object_get(document, "target");
	const char *name = json_string_value(json_object_get(target, "comm"));
	char pid[24];

	snprintf(pid, sizeof pid, "%" JSON_INTEGER_FORMAT,
		json_integer_value(json_object_get(target, "pid")));
	if (ui_table_row(t, e) < 0 || ui_table_cell(t, pid, e) < 0)
		return -1;
	for (; columns->title; columns++) {
		json_t *n = number_at(document, columns->path);

		if (number_cell(t, ui, columns, n, json_integer_value(n), e) < 0)
			return -1;
	}
	return ui_table_cell(t, name ? name : "?", e);
}

static int
batch_add_total(struct ui_table *t, const struct ui_options *ui, const struct batch_column *columns,
	json_t *documents, struct err *e)
{
	if (ui_table_row(t, e) < 0 || ui_table_cell(t, "", e) < 0)
		return -1;
	for (; columns->title; columns++) {
		json_int_t sum = 0;
		bool is_known = sum_of(documents, columns->path, &sum);

		if (number_cell(t, ui, columns, is_known, sum, e) < 0)
			return -1;
	}
	return ui_table_cell(t, "total", e);
}

/* Note that the total counts shared memory once per process. */
static void
note_shared(struct ui_output *out, const struct batch_column *columns, json_t *documents)
{
	for (; columns->title && json_array_size(documents) > 1; columns++) {
		json_int_t sum = 0;

		if (columns->is_shared && sum_of(documents, columns->path, &sum) && sum)
			fprintf(out->f,
				"%s counts in each process that shares it, and in its RSS: totals "
				"are too high by that (memdiag maps --pss divides it).\n",
				columns->title);
	}
}

int
batch_print_text(struct ui_output *out, const struct ui_options *ui,
	const struct batch_column *columns, json_t *documents, size_t limit, struct err *e)
{
	const size_t nr = json_array_size(documents), shown = limit && limit < nr ? limit : nr;
	auto_table struct ui_table *t = ui_table_new(out);

	if (!t)
		return err_set(e, ENOMEM, "cannot make a table");
	if (batch_add_columns(t, columns, e) < 0)
		return -1;
	for (size_t i = 0; i < shown; i++)
		if (batch_add_process(t, ui, columns, json_array_get(documents, i), e) < 0)
			return -1;
	if (batch_add_total(t, ui, columns, documents, e) < 0 || ui_table_print(t, e) < 0)
		return -1;
	ui_print_more(out->f, nr - shown);
	note_shared(out, columns, documents);
	return 0;
}

/* ---- JSON ---- */

int
batch_print_json(struct ui_output *out, const char *command, const struct batch_column *columns,
	json_t *documents, const struct warnings *warnings, struct err *e)
{
	json_auto_t *document = ui_json_new(command, NULL);
	json_t *data = json_object_get(document, "data"), *totals = json_object(), *process;
	json_int_t sum = 0;
	size_t i;

	for (; columns->title; columns++)
		json_object_set_new(totals, columns->member,
			sum_of(documents, columns->path, &sum) ? json_integer(sum) : json_null());
	json_object_set_new(data, "totals", totals);
	warnings_to_json(warnings, document);
	json_array_foreach(documents, i, process)
	{
		if (json_is_true(json_object_get(process, "partial")))
			json_object_set_new(document, "partial", json_true());
	}
	if (json_object_set(data, "processes", documents) < 0)
		return err_set(e, ENOMEM, "cannot write JSON");
	return ui_json_print(document, out, e);
}
