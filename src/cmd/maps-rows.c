#include <config.h>

#include "cmd/maps-rows.h"

#include <errno.h>
#include <fnmatch.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "ui/ui.h"

const char *const rows_by_names[NR_BY] = { "class", "object", "arena", "thread", "mapping" };

struct adder {
	struct rows *rows;
	const struct space *s;
	const struct target *t;
	enum rows_by by;
	const struct user_classes *classes;
	struct hsearch_data table;	/* of names; its data is the index of the row, plus 1 */
	size_t kind_row[NR_LEAF_KINDS];	/* the row of a kind, plus 1; 0 if there is none yet */
	size_t group_row[NR_GROUPS];
	size_t last;			/* the row of the last name asked for, plus 1 */
	bool failed;			/* no memory */
};

/* ---- rows ---- */

static size_t
new_row(struct adder *a, const char *name, size_t parent)
{
	struct row *r = array_add(a->rows);
	char *copy = r ? strdup(name) : NULL;

	if (!copy) {
		a->failed = true;
		return 0;
	}
	*r = (struct row){ .name = copy, .parent = parent, .confidence = CONFIDENCE_EXACT };
	return a->rows->nr - 1;
}

/* The row called NAME; neighbours often have the same. */
static size_t
row_named(struct adder *a, const char *name)
{
	ENTRY *found, want = { .key = (char *)(uintptr_t)name };
	size_t row;

	if (a->last && strcmp(a->rows->v[a->last - 1].name, name) == 0)
		return a->last - 1;
	if (hsearch_r(want, FIND, &found, &a->table)) {
		a->last = (size_t)(uintptr_t)found->data;
		return a->last - 1;
	}
	row = new_row(a, name, NO_PARENT);
	if (a->failed)
		return row;
	a->last = row + 1;
	want.key = a->rows->v[row].name;
	want.data = (void *)(uintptr_t)a->last;
	if (!hsearch_r(want, ENTER, &found, &a->table))
		a->failed = true;
	return row;
}

static size_t
group_row(struct adder *a, enum group g)
{
	if (!a->group_row[g])
		a->group_row[g] = new_row(a, group_name(g), NO_PARENT) + 1;
	return a->group_row[g] - 1;
}

/* The row of kind K within its group. */
static size_t
kind_row(struct adder *a, enum leaf_kind k)
{
	if (!a->kind_row[k]) {
		size_t parent = group_row(a, leaf_kind_group(k));

		a->kind_row[k] = new_row(a, leaf_kind_name(k), parent) + 1;
	}
	return a->kind_row[k] - 1;
}

/* ---- which row a leaf goes into ---- */

static const char *
path_of(const struct adder *a, const struct leaf *l)
{
	const char *path = a->s->maps.region[l->region].path;

	return path ? path : "";
}

static size_t
row_by_class(struct adder *a, const struct leaf *l)
{
	const char *path = path_of(a, l);

	for (size_t i = 0; *path && i < a->classes->nr; i++)
		if (fnmatch(a->classes->v[i].glob, path, 0) == 0)
			return row_named(a, a->classes->v[i].name);
	return kind_row(a, l->kind);
}

/* A file, a name the program gave, or what the leaf is. */
static size_t
row_by_object(struct adder *a, const struct leaf *l)
{
	const char *path = path_of(a, l);

	if (l->object >= 0)
		return row_named(a, a->s->objects.v[l->object].path);
	if (path[0] == '/' || l->kind == LEAF_NAMED || l->kind == LEAF_DEVICE)
		return row_named(a, path);
	return row_named(a, leaf_kind_name(l->kind));
}

static size_t
row_by_arena(struct adder *a, const struct leaf *l)
{
	char name[64];

	if (leaf_kind_group(l->kind) != GROUP_HEAP)
		return row_named(a, "not malloc");
	if (l->kind == LEAF_MAIN_HEAP || l->kind == LEAF_MAIN_PIECE)
		return row_named(a, "main arena");
	if (l->arena < 0)
		return row_named(a, leaf_kind_name(l->kind));
	snprintf(name, sizeof name, "arena %" PRId32, l->arena);
	return row_named(a, name);
}

static size_t
row_by_thread(struct adder *a, const struct leaf *l)
{
	char comm[64], name[128];

	if (leaf_kind_group(l->kind) != GROUP_STACK)
		return row_named(a, "not stacks");
	if (!l->tid)
		return row_named(a, leaf_kind_name(l->kind));
	snprintf(name, sizeof name, "%d %s", l->tid,
		os_thread_name(a->t, l->tid, comm, sizeof comm));
	return row_named(a, name);
}

static size_t
row_by_mapping(struct adder *a, const struct leaf *l)
{
	size_t row = new_row(a, path_of(a, l), NO_PARENT);

	if (!a->failed)
		a->rows->v[row].leaf = l;
	return row;
}

static size_t (*const row_by[NR_BY])(struct adder *a, const struct leaf *l) = {
	[BY_CLASS] = row_by_class,
	[BY_OBJECT] = row_by_object,
	[BY_ARENA] = row_by_arena,
	[BY_THREAD] = row_by_thread,
	[BY_MAPPING] = row_by_mapping,
};

static void
add_leaf(struct row *r, const struct leaf *l)
{
	r->virt_bytes += l->end.v - l->start.v;
	r->rss_bytes += l->rss_bytes;
	r->swap_bytes += l->swap_bytes;
	r->hugetlb_bytes += l->hugetlb_bytes;
	r->huge_bytes += l->huge_bytes;
	r->pss_bytes += l->pss_bytes;
	r->uss_bytes += l->uss_bytes;
	r->count++;
	if (l->kind == LEAF_STACK_UNUSED || l->kind == LEAF_CACHED_STACK) {
		r->unused_bytes += l->rss_bytes;
		r->has_unused = true;
	}
	if (l->confidence < r->confidence)
		r->confidence = l->confidence;
}

static int
add_all(struct adder *a)
{
	/* An upper bound; hsearch_r()'s table does not grow. */
	if (!hcreate_r(a->s->leaves.nr + a->s->leaves.nr / 4 + 16, &a->table))
		return -1;
	for (size_t i = 0; i < a->s->leaves.nr; i++) {
		const struct leaf *l = &a->s->leaves.v[i];
		size_t row = row_by[a->by](a, l);

		if (a->failed)
			break;
		for (; row != NO_PARENT; row = a->rows->v[row].parent)
			add_leaf(&a->rows->v[row], l);
	}
	hdestroy_r(&a->table);
	return a->failed ? -1 : 0;
}

int
rows_make(struct rows *r, const struct space *s, const struct target *t, enum rows_by by,
	const struct user_classes *classes, struct err *e)
{
	struct adder a = { .rows = r, .s = s, .t = t, .by = by, .classes = classes };

	if (add_all(&a) == 0)
		return 0;
	rows_release(r);
	return err_set(e, ENOMEM, "cannot add up the mappings");
}

bool
rows_know_unused(const struct space *s)
{
	return s->rss_from == SPACE_RSS_SCAN || s->rss_from == SPACE_RSS_PAGEMAP;
}

void
rows_release(struct rows *r)
{
	for (size_t i = 0; i < r->nr; i++)
		free(r->v[i].name);
	free(r->v);
	*r = (struct rows){ 0 };
}

/* ---- order ---- */

struct order {
	const struct rows *rows;
	enum rows_sort sort;
};

static int
descending(uint64_t a, uint64_t b)
{
	return a > b ? -1 : a < b;
}

static int
compare(const struct row *a, const struct row *b, enum rows_sort sort)
{
	int by_name = strcmp(a->name, b->name), first = 0;

	switch (sort) {
	case SORT_RSS:
		first = descending(a->rss_bytes, b->rss_bytes);
		break;
	case SORT_VIRT:
		break;
	case SORT_SWAP:
		first = descending(a->swap_bytes, b->swap_bytes);
		break;
	case SORT_HUGETLB:
		first = descending(a->hugetlb_bytes, b->hugetlb_bytes);
		break;
	case SORT_COUNT:
		first = descending(a->count, b->count);
		break;
	case SORT_NAME:
		first = by_name;
		break;
	case SORT_ADDRESS:	/* rows are made in that order */
		return a < b ? -1 : a > b;
	}
	if (!first)
		first = descending(a->virt_bytes, b->virt_bytes);
	if (!first)
		first = by_name;
	return first ? first : (a < b ? -1 : a > b);
}

static int
compare_in_tree(const void *x, const void *y, void *arg)
{
	const struct order *o = arg;
	const struct row *a = *(const struct row *const *)x, *b = *(const struct row *const *)y;
	const struct row *top_a = a->parent == NO_PARENT ? a : &o->rows->v[a->parent];
	const struct row *top_b = b->parent == NO_PARENT ? b : &o->rows->v[b->parent];

	if (top_a != top_b)
		return compare(top_a, top_b, o->sort);
	if (a == top_a || b == top_b)
		return a == top_a ? -(a != b) : 1;
	return compare(a, b, o->sort);
}

int
rows_sort(const struct rows *r, enum rows_sort sort, const struct row ***ret, struct err *e)
{
	struct order o = { r, sort };
	const struct row **v = malloc((r->nr + 1) * sizeof *v);

	if (!v)
		return err_set(e, ENOMEM, "cannot sort");
	for (size_t i = 0; i < r->nr; i++)
		v[i] = &r->v[i];
	qsort_r(v, r->nr, sizeof *v, compare_in_tree, &o);
	*ret = v;
	return 0;
}
