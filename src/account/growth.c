#include <config.h>

#include "account/growth.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "os/stranger.h"

/* Separates the name of a row from its parent's name; sorts before all printable characters. */
#define SEPARATOR '\n'
/* Limit of numbers in a file, so that a difference fits into an int64_t. */
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
	static const char *const known[] = { "info", "maps", "heap", "trim", "diff", "doctor",
		"types", "retained", "leaks" };
	const char *schema = string_in(saved, "schema");
	char want[32];

	for (size_t i = 0; schema && i < sizeof known / sizeof *known; i++) {
		snprintf(want, sizeof want, "memdiag.%s/1", known[i]);
		if (strcmp(schema, want) == 0)
			return known[i];
	}
	return NULL;
}

/* Report that SAVED, the file PATH, has not one of the known schemas. */
static int
saved_refuse(json_t *saved, const char *path, struct err *e)
{
	static const char ours[] = "memdiag.";
	const char *schema = string_in(saved, "schema");
	char shown[64];

	if (schema && strncmp(schema, ours, sizeof ours - 1) == 0)
		return err_set(e, 0, "%s has the format '%s', which this memdiag cannot compare",
			path, text_abbreviate(schema, shown, sizeof shown));
	return err_set(e, 0, "%s is not what memdiag writes with --json", path);
}

int
saved_read(json_t **ret, const char *path, struct err *e)
{
	json_error_t error;
	auto_fd int fd = os_open(path, OS_REGULAR | OS_PIPE, e);
	json_auto_t *saved = NULL;

	if (fd < 0)
		return -1;
	errno = 0;
	saved = json_loadfd(fd, 0, &error);
	/* Without memory, jansson usually reports invalid text. */
	if (!saved && errno == ENOMEM)
		return err_set(e, ENOMEM, "cannot read %s", path);
	if (!saved)
		return err_set(e, 0, "cannot read %s, line %d: %s", path, error.line, error.text);
	if (!saved_command(saved))
		return saved_refuse(saved, path, e);
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

bool
saved_is_same_filter(json_t *data, json_t *filter)
{
	json_t *was = json_object_get(data, "filter");

	return json_is_null(filter) || !filter ? json_is_null(was) || !was
					       : json_equal(was, filter);
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

/* Return the member MEMBER of ROW, of which each dot leads to a member of a member. */
static json_t *
growth_member(json_t *row, const char *member)
{
	const char *dot = strchr(member, '.');
	char first[32];

	if (!dot)
		return json_object_get(row, member);
	snprintf(first, sizeof first, "%.*s", (int)(dot - member), member);
	return growth_member(json_object_get(row, first), dot + 1);
}

json_t *
growth_rows(const struct growth_list *l, json_t *data)
{
	return l->rows ? l->rows(data) : json_incref(json_object_get(data, l->member));
}

static int64_t
number_in(json_t *row, const char *member)
{
	json_int_t n = json_integer_value(growth_member(row, member));

	return n > NUMBER_MAX ? NUMBER_MAX : n < -NUMBER_MAX ? -NUMBER_MAX : n;
}

static bool
growth_is_in(json_t *row, const char *member)
{
	return json_is_integer(growth_member(row, member));
}

/* A row of a document, and its key. */
struct side_row {
	char *key, *name; /* owned */
	json_t *from;
};

struct side {
	struct side_row *v;
	size_t nr, room;
};

static void
side_release(struct side *s)
{
	for (size_t i = 0; i < s->nr; i++) {
		free(s->v[i].key);
		free(s->v[i].name);
	}
	free(s->v);
}
#define auto_side __attribute__((cleanup(side_release)))

/* Check that FROM has all numbers of LIST. */
static int
growth_check_row(const struct growth_list *list, json_t *from, struct err *e)
{
	for (size_t c = 0; list->has_both && c < growth_nr_columns(list); c++) {
		const char *member = list->column[c].member;

		if (!growth_is_in(from, member) || number_in(from, member) < 0)
			return err_set(e, 0, "a row of its %s has no %s", list->member, member);
	}
	return 0;
}

static int
growth_add_row(struct side *s, const struct growth_list *list, json_t *from, const char *parent,
	struct err *e)
{
	char buf[4096];
	const char *name = list->name(from, buf, sizeof buf);
	auto_free char *own = NULL;
	struct side_row *row;

	if (!name)
		return err_set(e, 0, "a row of its %s has no name", list->member);
	row = array_add(s);
	if (!row)
		return err_set(e, ENOMEM, "cannot keep its %s", list->member);
	*row = (struct side_row){ .from = from, .name = strdup(name) };
	own = list->key ? list->key(from, e) : NULL;
	if (list->key && !own)
		return -1;
	if (asprintf(&row->key, "%s%c%s", parent, SEPARATOR, own ? own : name) < 0)
		row->key = NULL;
	if (!row->key || !row->name)
		return err_set(e, ENOMEM, "cannot keep its %s", list->member);
	return growth_check_row(list, from, e);
}

/* Add the rows of FROM and, if they are top-level rows, their parts. */
static int
growth_add_rows(struct side *s, const struct growth_list *list, json_t *from, const char *parent,
	struct err *e)
{
	size_t i;
	json_t *row, *parts;

	if (json_is_object(from))
		return growth_add_row(s, list, from, parent, e);
	if (!json_is_array(from))
		return err_set(e, 0, "it has no %s", list->member);
	json_array_foreach(from, i, row)
	{
		if (growth_add_row(s, list, row, parent, e) < 0)
			return -1;
		parts = json_object_get(row, "parts");
		if (parts && !*parent &&
			growth_add_rows(s, list, parts, s->v[s->nr - 1].key + 1, e) < 0)
			return -1;
	}
	return 0;
}

static int
growth_by_key(const void *a, const void *b)
{
	return strcmp(((const struct side_row *)a)->key, ((const struct side_row *)b)->key);
}

static int
side_make(struct side *s, const struct growth_list *list, json_t *from, struct err *e)
{
	if (growth_add_rows(s, list, from, "", e) < 0)
		return -1;
	if (s->nr)
		qsort(s->v, s->nr, sizeof *s->v, growth_by_key);
	return 0;
}

/* ---- comparing ---- */

static void
growth_row_release(struct growth_row *row)
{
	free(row->key);
	free(row->name);
	json_decref(row->from);
}

size_t
growth_nr_columns(const struct growth_list *list)
{
	size_t nr = 0;

	while (nr < GROWTH_COLUMNS && list->column[nr].member)
		nr++;
	return nr;
}

static bool
is_null_in(struct side_row *row, const char *member)
{
	return row && json_is_null(json_object_get(row->from, member));
}

static bool
is_guess_in(struct side_row *row)
{
	const char *confidence = row ? string_in(row->from, "confidence") : NULL;

	return confidence && strcmp(confidence, "guess") == 0;
}

/* Add a row, which either side may lack.  Numbers unknown to one side are not compared. */
static int
add_pair(struct growth *g, struct side_row *was, struct side_row *is, struct err *e)
{
	struct growth_row *row = array_add(g);

	if (!row)
		return err_set(e, ENOMEM, "cannot compare");
	row->is_guess = is_guess_in(was) || is_guess_in(is);
	row->key = take_ptr(is ? &is->key : &was->key);
	row->name = take_ptr(is ? &is->name : &was->name);
	row->from = json_incref(is ? is->from : was->from);
	for (size_t c = 0; c < growth_nr_columns(g->list); c++) {
		const char *member = g->list->column[c].member;

		if (is_null_in(was, member) || is_null_in(is, member))
			g->is_missing[c] = true;
		if (was && is && growth_is_in(was->from, member) != growth_is_in(is->from, member))
			continue;
		row->was[c] = was ? number_in(was->from, member) : 0;
		row->is[c] = is ? number_in(is->from, member) : 0;
	}
	return 0;
}

/* Add N to *SUM, which stays below NUMBER_MAX as all numbers of files. */
static void
growth_add_number(int64_t *sum, int64_t n)
{
	*sum = n > NUMBER_MAX - *sum ? NUMBER_MAX : *sum + n;
}

/* Join the rows of G that have the same key; they follow each other. */
static void
growth_join(struct growth *g)
{
	size_t kept = 0;

	for (size_t i = 0; i < g->nr; i++) {
		struct growth_row *row = &g->v[i], *last = kept ? &g->v[kept - 1] : NULL;

		if (!last || strcmp(last->key, row->key) != 0) {
			g->v[kept++] = *row;
			continue;
		}
		for (size_t c = 0; c < growth_nr_columns(g->list); c++) {
			growth_add_number(&last->was[c], row->was[c]);
			growth_add_number(&last->is[c], row->is[c]);
		}
		growth_row_release(row);
	}
	g->nr = kept;
}

/* Merge both lists, which are sorted by key. */
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
growth_find(
	struct growth *g, const struct growth_list *list, json_t *was, json_t *is, struct err *e)
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
	if (list->has_both)
		growth_join(g);
	growth_sort(g, list->sort);
	return 0;
}

void
growth_release(struct growth *g)
{
	for (size_t i = 0; i < g->nr; i++)
		growth_row_release(&g->v[i]);
	free(g->v);
	*g = (struct growth){ 0 };
}

int64_t
growth_change(const struct growth_row *row, size_t column)
{
	return row->is[column] - row->was[column];
}

/* Compare growth in the column, then in the first column, then names. */
static int
by_change(const void *a, const void *b, void *column)
{
	const struct growth_row *x = a, *y = b;
	size_t order[] = { *(const size_t *)column, 0 };

	for (size_t i = 0; order[0] != GROWTH_BY_NAME && i < 2; i++)
		if (growth_change(x, order[i]) != growth_change(y, order[i]))
			return growth_change(x, order[i]) > growth_change(y, order[i]) ? -1 : 1;
	return strcmp(x->name, y->name);
}

void
growth_sort(struct growth *g, size_t column)
{
	if (g->nr)
		qsort_r(g->v, g->nr, sizeof *g->v, by_change, &column);
}

/* ---- rows worth showing ---- */

const char *
growth_column_name(const struct growth_column *c)
{
	const char *dot = strrchr(c->member, '.');

	return dot ? dot + 1 : c->member;
}

bool
growth_is_size(const struct growth_column *c)
{
	size_t len = strlen(c->member);

	return len >= 5 && strcmp(c->member + len - 5, "bytes") == 0;
}

enum growth_state
growth_state(const struct growth *g, const struct growth_row *row)
{
	bool was = false, is = false, differs = false;

	for (size_t c = 0; c < growth_nr_columns(g->list); c++) {
		was |= row->was[c] != 0;
		is |= row->is[c] != 0;
		differs |= growth_change(row, c) != 0;
	}
	if (!differs)
		return GROWTH_SAME;
	return !was ? GROWTH_NEW : !is ? GROWTH_GONE : GROWTH_CHANGED;
}

bool
growth_is_changed(const struct growth *g, const struct growth_row *row)
{
	for (size_t c = 0; c < growth_nr_columns(g->list); c++)
		if (!g->is_missing[c] && growth_is_size(&g->list->column[c]) &&
			growth_change(row, c))
			return true;
	return false;
}

bool
growth_is_any(const struct growth *g)
{
	for (size_t i = 0; i < g->nr; i++)
		if (growth_is_changed(g, &g->v[i]))
			return true;
	return false;
}
