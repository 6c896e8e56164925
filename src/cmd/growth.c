#include <config.h>

#include "cmd/growth.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"

/* Between the name of a row and that of what it is a part of; sorts before all that is printed. */
#define SEPARATOR '\n'
/* No two numbers of a file differ by more than an int64_t holds. */
#define NUMBER_MAX (INT64_C(1) << 62)

/* ---- saved outputs ---- */

static const char *
string_in(json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

const char *
saved_command(json_t *saved)
{
	static const char *const known[] = { "info", "maps", "heap", "trim", "diff", "doctor" };
	const char *schema = string_in(saved, "schema");
	char want[32];

	for (size_t i = 0; schema && i < sizeof known / sizeof *known; i++) {
		snprintf(want, sizeof want, "memdiag.%s/1", known[i]);
		if (strcmp(schema, want) == 0)
			return known[i];
	}
	return NULL;
}

int
saved_read(json_t **ret, const char *path, struct err *e)
{
	json_error_t error;
	json_auto_t *saved = json_load_file(path, 0, &error);

	if (!saved)
		return err_set(e, 0, "cannot read %s, line %d: %s", path, error.line, error.text);
	if (!saved_command(saved))
		return err_set(e, 0, "%s is not what memdiag writes with --json", path);
	*ret = json_incref(saved);
	return 0;
}

bool
saved_is_same_target(json_t *a, json_t *b)
{
	json_t *x = json_object_get(a, "target"), *y = json_object_get(b, "target");

	return json_equal(json_object_get(x, "pid"), json_object_get(y, "pid")) &&
		json_equal(json_object_get(x, "start_ticks"), json_object_get(y, "start_ticks"));
}

const char *
saved_target(json_t *saved, char *buf, size_t size)
{
	json_t *target = json_object_get(saved, "target");
	const char *comm = string_in(target, "comm");
	char name[64];

	snprintf(buf, size, "%" JSON_INTEGER_FORMAT " (%s)",
		json_integer_value(json_object_get(target, "pid")),
		text_printable(comm ? comm : "?", name, sizeof name));
	return buf;
}

/* ---- rows ---- */

const char *
growth_name(json_t *row, char *buf, size_t size)
{
	const char *name = string_in(row, "name");

	return name ? text_printable(name, buf, size) : NULL;
}

static int64_t
number_in(json_t *row, const char *member)
{
	json_int_t n = json_integer_value(json_object_get(row, member));

	return n > NUMBER_MAX ? NUMBER_MAX : n < -NUMBER_MAX ? -NUMBER_MAX : n;
}

static bool
is_in(json_t *row, const char *member)
{
	return json_is_integer(json_object_get(row, member));
}

/* A row of a document, and its key. */
struct side_row {
	char *key;	/* owned */
	json_t *from;
};

struct side {
	struct side_row *v;
	size_t nr, room;
};

static void
side_release(struct side *s)
{
	for (size_t i = 0; i < s->nr; i++)
		free(s->v[i].key);
	free(s->v);
}
#define auto_side __attribute__((cleanup(side_release)))

static int
add_row(struct side *s, const struct growth_list *list, json_t *from, const char *parent,
	struct err *e)
{
	char buf[4096];
	const char *name = list->name(from, buf, sizeof buf);
	struct side_row *row;

	if (!name)
		return err_set(e, 0, "a row of its %s has no name", list->member);
	row = array_add(s);
	if (!row)
		return err_set(e, ENOMEM, "cannot keep its %s", list->member);
	row->from = from;
	if (asprintf(&row->key, "%s%c%s", parent, SEPARATOR, name) < 0) {
		row->key = NULL;
		return err_set(e, ENOMEM, "cannot keep its %s", list->member);
	}
	return 0;
}

/* The rows of FROM, and in the first rank their parts. */
static int
add_rows(struct side *s, const struct growth_list *list, json_t *from, const char *parent,
	struct err *e)
{
	size_t i;
	json_t *row, *parts;

	if (json_is_object(from))
		return add_row(s, list, from, parent, e);
	if (!json_is_array(from))
		return err_set(e, 0, "it has no %s", list->member);
	json_array_foreach(from, i, row) {
		if (add_row(s, list, row, parent, e) < 0)
			return -1;
		parts = json_object_get(row, "parts");
		if (parts && !*parent &&
			add_rows(s, list, parts, s->v[s->nr - 1].key + 1, e) < 0)
			return -1;
	}
	return 0;
}

static int
by_key(const void *a, const void *b)
{
	return strcmp(((const struct side_row *)a)->key, ((const struct side_row *)b)->key);
}

static int
side_make(struct side *s, const struct growth_list *list, json_t *from, struct err *e)
{
	if (add_rows(s, list, from, "", e) < 0)
		return -1;
	if (s->nr)
		qsort(s->v, s->nr, sizeof *s->v, by_key);
	return 0;
}

/* ---- comparing ---- */

static size_t
nr_columns(const struct growth_list *list)
{
	size_t nr = 0;

	while (nr < GROWTH_COLUMNS && list->column[nr].member)
		nr++;
	return nr;
}

/* A row of which either side may be missing.  What one side could not count has not grown. */
static int
add_pair(struct growth *g, struct side_row *was, struct side_row *is, struct err *e)
{
	struct growth_row *row = array_add(g);

	if (!row)
		return err_set(e, ENOMEM, "cannot compare");
	row->key = take_ptr(is ? &is->key : &was->key);
	row->name = strchr(row->key, SEPARATOR) + 1;
	for (size_t c = 0; c < nr_columns(g->list); c++) {
		const char *member = g->list->column[c].member;

		if (was && is && is_in(was->from, member) != is_in(is->from, member))
			continue;
		row->was[c] = was ? number_in(was->from, member) : 0;
		row->is[c] = is ? number_in(is->from, member) : 0;
	}
	return 0;
}

/* Both lists are in the order of their keys: like a zip. */
static int
add_pairs(struct growth *g, struct side *was, struct side *is, struct err *e)
{
	size_t i = 0, k = 0;

	while (i < was->nr || k < is->nr) {
		int order = i == was->nr ? 1
			: k == is->nr	 ? -1
					 : strcmp(was->v[i].key, is->v[k].key);
		struct side_row *old = order <= 0 ? &was->v[i++] : NULL;
		struct side_row *new = order >= 0 ? &is->v[k++] : NULL;

		if (add_pair(g, old, new, e) < 0)
			return -1;
	}
	return 0;
}

int
growth_find(struct growth *g, const struct growth_list *list, json_t *was, json_t *is,
	struct err *e)
{
	auto_side struct side old = { 0 };
	auto_side struct side new = { 0 };

	*g = (struct growth){ .list = list };
	if (side_make(&old, list, was, e) < 0 || side_make(&new, list, is, e) < 0)
		return -1;
	if (add_pairs(g, &old, &new, e) < 0) {
		growth_release(g);
		return -1;
	}
	growth_sort(g, list->sort);
	return 0;
}

void
growth_release(struct growth *g)
{
	for (size_t i = 0; i < g->nr; i++)
		free(g->v[i].key);
	free(g->v);
	*g = (struct growth){ 0 };
}

static int64_t
change(const struct growth_row *row, size_t column)
{
	return row->is[column] - row->was[column];
}

/* By how much it grew in the column, then in the first one, then by name. */
static int
by_change(const void *a, const void *b, void *column)
{
	const struct growth_row *x = a, *y = b;
	size_t order[] = { *(const size_t *)column, 0 };

	for (size_t i = 0; order[0] != GROWTH_BY_NAME && i < 2; i++)
		if (change(x, order[i]) != change(y, order[i]))
			return change(x, order[i]) > change(y, order[i]) ? -1 : 1;
	return strcmp(x->name, y->name);
}

void
growth_sort(struct growth *g, size_t column)
{
	if (g->nr)
		qsort_r(g->v, g->nr, sizeof *g->v, by_change, &column);
}

/* ---- showing ---- */

static bool
is_size(const struct growth_column *c)
{
	size_t len = strlen(c->member);

	return len >= 5 && strcmp(c->member + len - 5, "bytes") == 0;
}

static bool
has_grown(const struct growth *g, size_t column)
{
	for (size_t i = 0; i < g->nr; i++)
		if (change(&g->v[i], column))
			return true;
	return false;
}

static bool
is_shown(const struct growth *g, size_t column)
{
	return !g->list->column[column].is_rare || has_grown(g, column);
}

static int
add_columns(struct ui_table *t, const struct growth *g, struct err *e)
{
	for (size_t c = 0; c < nr_columns(g->list); c++) {
		const struct growth_column *column = &g->list->column[c];

		if (!is_shown(g, c))
			continue;
		if (is_size(column) ? ui_table_column(t, column->title, true, e) < 0
				    : ui_table_column(t, "WERE", true, e) < 0 ||
					    ui_table_column(t, "ARE", true, e) < 0)
			return -1;
	}
	return ui_table_column(t, g->list->title, false, e);
}

static int
count_cell(struct ui_table *t, int64_t n, struct err *e)
{
	char text[32];

	snprintf(text, sizeof text, "%" PRId64, n);
	return ui_table_cell(t, text, e);
}

static int
print_row(struct ui_table *t, const struct growth *g, const struct growth_row *row,
	const struct ui_options *ui, struct err *e)
{
	char text[32];

	if (ui_table_row(t, e) < 0)
		return -1;
	for (size_t c = 0; c < nr_columns(g->list); c++) {
		if (!is_shown(g, c))
			continue;
		if (is_size(&g->list->column[c])) {
			ui_size_change(ui, change(row, c), text, sizeof text);
			if (ui_table_cell(t, text, e) < 0)
				return -1;
		} else if (count_cell(t, row->was[c], e) < 0 || count_cell(t, row->is[c], e) < 0) {
			return -1;
		}
	}
	return ui_table_cell(t, row->name, e);
}

/* Whether any size of it changed; that there are more of no greater size is not worth a line. */
static bool
is_changed(const struct growth *g, const struct growth_row *row)
{
	for (size_t c = 0; c < nr_columns(g->list); c++)
		if (is_size(&g->list->column[c]) && change(row, c))
			return true;
	return false;
}

bool
growth_is_any(const struct growth *g)
{
	for (size_t i = 0; i < g->nr; i++)
		if (is_changed(g, &g->v[i]))
			return true;
	return false;
}

int
growth_print(const struct growth *g, struct ui_output *out, const struct ui_options *ui,
	size_t limit, struct err *e)
{
	auto_table struct ui_table *t = ui_table_new(out);
	size_t shown = 0;

	if (!t)
		return err_set(e, ENOMEM, "cannot make a table");
	if (add_columns(t, g, e) < 0)
		return -1;
	for (size_t i = 0; i < g->nr && (!limit || shown < limit); i++) {
		if (!is_changed(g, &g->v[i]))
			continue;
		if (print_row(t, g, &g->v[i], ui, e) < 0)
			return -1;
		shown++;
	}
	return ui_table_print(t, e);
}

json_t *
growth_to_json(const struct growth *g)
{
	json_t *list = json_array();

	for (size_t i = 0; i < g->nr; i++) {
		json_t *o = json_pack("{s:s}", "name", g->v[i].name);

		for (size_t c = 0; c < nr_columns(g->list); c++)
			json_object_set_new(o, g->list->column[c].member,
				json_integer(change(&g->v[i], c)));
		json_array_append_new(list, o);
	}
	return list;
}
