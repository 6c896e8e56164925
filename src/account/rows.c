#include <config.h>

#include "account/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "os/os.h"
#include "os/status.h"

const char *const rows_by_names[NR_BY + 1] = { "class", "object", "arena", "thread", "mapping",
	NULL };

struct rows_adder {
	struct rows *rows;
	const struct space *s;
	const struct target *t;
	enum rows_by by;
	const struct selection *sel;
	/*
	 * The rows by name: an index plus 1 each, in an open-addressing hash table. hsearch_r()
	 * hashes only the first eight characters of a name, which paths often share.
	 */
	size_t *slot;
	size_t nr_slots;		/* a power of 2, at least twice the rows */
	size_t kind_row[NR_LEAF_KINDS]; /* the row of a kind, plus 1; 0 if not yet created */
	size_t group_row[NR_GROUPS];
	size_t last; /* the row of the last name searched, plus 1 */
	bool failed; /* out of memory */
};

/* The sort orders follow the order of the columns. */
_Static_assert(SORT_THP - SORT_PSS == EXTRA_THP, "one order of columns and of sorting");

/* ---- rows ---- */

static size_t
new_row(struct rows_adder *a, const char *name, size_t parent)
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

/* Return the slot of the row called NAME, or the slot where it belongs. */
static size_t *
rows_slot_of(const struct rows_adder *a, const char *name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
	size_t at;

	for (const char *s = name; *s; s++)
		hash = (hash ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
	at = (hash ^ hash >> 32) & (a->nr_slots - 1);
	while (a->slot[at] && strcmp(a->rows->v[a->slot[at] - 1].name, name) != 0)
		at = (at + 1) & (a->nr_slots - 1);
	return &a->slot[at];
}

/* Return the row called NAME; neighbours often share it. */
static size_t
row_named(struct rows_adder *a, const char *name)
{
	size_t *slot;

	if (a->last && strcmp(a->rows->v[a->last - 1].name, name) == 0)
		return a->last - 1;
	slot = rows_slot_of(a, name);
	if (!*slot) {
		size_t row = new_row(a, name, NO_PARENT);

		if (a->failed)
			return row;
		*slot = row + 1;
	}
	a->last = *slot;
	return a->last - 1;
}

static size_t
rows_group_row(struct rows_adder *a, enum group g)
{
	if (!a->group_row[g])
		a->group_row[g] = new_row(a, group_name(g), NO_PARENT) + 1;
	return a->group_row[g] - 1;
}

/* Return the row of kind K within its group. */
static size_t
kind_row(struct rows_adder *a, enum leaf_kind k)
{
	if (!a->kind_row[k]) {
		size_t parent = rows_group_row(a, leaf_kind_group(k));

		a->kind_row[k] = new_row(a, leaf_kind_name(k), parent) + 1;
	}
	return a->kind_row[k] - 1;
}

/* ---- the row of a leaf ---- */

static size_t
row_by_class(struct rows_adder *a, const struct leaf *l)
{
	const char *own = leaf_user_class(&a->sel->own, a->s, l);

	return own ? row_named(a, own) : kind_row(a, l->kind);
}

static size_t
row_by_object(struct rows_adder *a, const struct leaf *l)
{
	return row_named(a, leaf_object(a->s, l));
}

static size_t
row_by_arena(struct rows_adder *a, const struct leaf *l)
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
row_by_thread(struct rows_adder *a, const struct leaf *l)
{
	char comm[OS_COMM_BYTES], name[128];

	if (leaf_kind_group(l->kind) != GROUP_STACK)
		return row_named(a, "not stacks");
	if (!l->tid)
		return row_named(a, leaf_kind_name(l->kind));
	snprintf(name, sizeof name, "%d %s", l->tid,
		a->t ? os_thread_comm(a->t, l->tid, comm) : "?");
	return row_named(a, name);
}

static size_t (*const row_by[NR_BY])(struct rows_adder *a, const struct leaf *l) = {
	[BY_CLASS] = row_by_class,
	[BY_OBJECT] = row_by_object,
	[BY_ARENA] = row_by_arena,
	[BY_THREAD] = row_by_thread,
};

static void
rows_add_leaf(struct row *r, const struct leaf *l)
{
	leaf_sum_add(&r->sum, l);
	if (l->kind == LEAF_STACK_UNUSED || l->kind == LEAF_CACHED_STACK) {
		r->unused_bytes += l->rss_bytes;
		r->has_unused = true;
	}
	if (l->confidence < r->confidence)
		r->confidence = l->confidence;
}

/* Add the rows of the kinds to the rows of their groups. */
static void
rows_add_to_parents(struct rows *rows)
{
	for (size_t i = 0; i < rows->nr; i++) {
		const struct row *r = &rows->v[i];
		struct row *parent;

		if (r->parent == NO_PARENT)
			continue;
		parent = &rows->v[r->parent];
		leaf_sum_add_sum(&parent->sum, &r->sum);
		parent->unused_bytes += r->unused_bytes;
		parent->has_unused |= r->has_unused;
		if (r->confidence < parent->confidence)
			parent->confidence = r->confidence;
	}
}

static int
add_all(struct rows_adder *a)
{
	/* At most as many rows have names as leaves exist. */
	for (a->nr_slots = 64; a->nr_slots < 2 * a->s->leaves.nr; a->nr_slots *= 2)
		;
	a->slot = calloc(a->nr_slots, sizeof *a->slot);
	if (!a->slot)
		return -1;
	for (size_t i = 0; i < a->s->leaves.nr; i++) {
		const struct leaf *l = &a->s->leaves.v[i];
		size_t row;

		if (!selection_takes(a->sel, a->s, l))
			continue;
		row = row_by[a->by](a, l);
		if (a->failed)
			break;
		rows_add_leaf(&a->rows->v[row], l);
	}
	rows_add_to_parents(a->rows);
	free(a->slot);
	return a->failed ? -1 : 0;
}

int
rows_make(struct rows *r, const struct space *s, const struct target *t, enum rows_by by,
	const struct selection *sel, struct err *e)
{
	struct rows_adder a = { .rows = r, .s = s, .t = t, .by = by, .sel = sel };

	if (add_all(&a) == 0)
		return 0;
	rows_release(r);
	return err_set(e, ENOMEM, "cannot add up the mappings");
}

struct row
row_of_all(const struct space *s, const struct selection *sel)
{
	struct row r = { .name = "total", .parent = NO_PARENT, .confidence = CONFIDENCE_EXACT };

	for (size_t i = 0; i < s->leaves.nr; i++)
		if (selection_takes(sel, s, &s->leaves.v[i]))
			rows_add_leaf(&r, &s->leaves.v[i]);
	if (selection_is_all(sel)) { /* pages that appeared after RSS was counted are in no leaf */
		r.sum.extra_bytes[EXTRA_PSS] = s->totals.pss_bytes;
		r.sum.extra_bytes[EXTRA_USS] = s->totals.uss_bytes;
		r.sum.extra_bytes[EXTRA_DIRTY] = s->totals.dirty_bytes;
		r.sum.extra_bytes[EXTRA_LOCKED] = s->totals.locked_bytes;
	}
	return r;
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
		free((char *)(uintptr_t)r->v[i].name);
	free(r->v);
	*r = (struct rows){ 0 };
}

/* ---- order ---- */

struct rows_order {
	const struct rows *rows;
	enum rows_sort sort;
};

static int
rows_descending(uint64_t a, uint64_t b)
{
	return a > b ? -1 : a < b;
}

/* Return 0 if both are equal. */
static int
compare_values(const struct row *a, const struct row *b, enum rows_sort sort)
{
	int by_name = strcmp(a->name, b->name), first = 0;

	switch (sort) {
	case SORT_RSS:
		first = rows_descending(a->sum.rss_bytes, b->sum.rss_bytes);
		break;
	case SORT_VIRT:
		break;
	case SORT_SWAP:
		first = rows_descending(a->sum.swap_bytes, b->sum.swap_bytes);
		break;
	case SORT_HUGETLB:
		first = rows_descending(a->sum.hugetlb_bytes, b->sum.hugetlb_bytes);
		break;
	case SORT_COUNT:
		first = rows_descending(a->sum.nr, b->sum.nr);
		break;
	case SORT_NAME:
		first = by_name;
		break;
	case SORT_PSS:
	case SORT_USS:
	case SORT_DIRTY:
	case SORT_LOCKED:
	case SORT_THP:
		first = rows_descending(
			a->sum.extra_bytes[sort - SORT_PSS], b->sum.extra_bytes[sort - SORT_PSS]);
		break;
	case SORT_ADDRESS: /* they are created in this order */
		return 0;
	}
	if (!first)
		first = rows_descending(a->sum.size_bytes, b->sum.size_bytes);
	return first ? first : by_name;
}

static int
compare_map_rows(const struct row *a, const struct row *b, enum rows_sort sort)
{
	int order = compare_values(a, b, sort);

	return order ? order : (a > b) - (a < b);
}

static int
compare_in_tree(const void *x, const void *y, void *arg)
{
	const struct rows_order *o = arg;
	const struct row *a = *(const struct row *const *)x, *b = *(const struct row *const *)y;
	const struct row *top_a = a->parent == NO_PARENT ? a : &o->rows->v[a->parent];
	const struct row *top_b = b->parent == NO_PARENT ? b : &o->rows->v[b->parent];

	if (top_a != top_b)
		return compare_map_rows(top_a, top_b, o->sort);
	if (a == top_a || b == top_b)
		return a == top_a ? -(a != b) : 1;
	return compare_map_rows(a, b, o->sort);
}

int
rows_sort(const struct rows *r, enum rows_sort sort, const struct row ***ret, struct err *e)
{
	struct rows_order o = { r, sort };
	const struct row **v = malloc((r->nr + 1) * sizeof *v);

	if (!v)
		return err_set(e, ENOMEM, "cannot sort");
	for (size_t i = 0; i < r->nr; i++)
		v[i] = &r->v[i];
	qsort_r(v, r->nr, sizeof *v, compare_in_tree, &o);
	*ret = v;
	return 0;
}

/* ---- mappings ---- */

struct row
row_of_leaf(const struct space *s, uint32_t leaf)
{
	const struct leaf *l = &s->leaves.v[leaf];
	const char *path = s->process->maps.region[l->region].path;
	struct row r = { .name = path ? path : "",
		.parent = NO_PARENT,
		.leaf = l,
		.confidence = CONFIDENCE_EXACT };

	rows_add_leaf(&r, l);
	return r;
}

struct leaf_order {
	const struct space *s;
	enum rows_sort sort;
};

static int
compare_leaves(const void *x, const void *y, void *arg)
{
	const struct leaf_order *o = arg;
	uint32_t i = *(const uint32_t *)x, k = *(const uint32_t *)y;
	struct row a = row_of_leaf(o->s, i), b = row_of_leaf(o->s, k);
	int order = compare_values(&a, &b, o->sort);

	return order ? order : (i > k) - (i < k);
}

int
leaves_sort(const struct space *s, const struct selection *sel, enum rows_sort sort, uint32_t **ret,
	size_t *ret_nr, struct err *e)
{
	struct leaf_order o = { s, sort };
	uint32_t *v = malloc((s->leaves.nr + 1) * sizeof *v);
	size_t nr = 0;

	if (!v)
		return err_set(e, ENOMEM, "cannot sort");
	for (size_t i = 0; i < s->leaves.nr; i++)
		if (selection_takes(sel, s, &s->leaves.v[i]))
			v[nr++] = (uint32_t)i;
	if (sort != SORT_ADDRESS)
		qsort_r(v, nr, sizeof *v, compare_leaves, &o);
	*ret = v;
	*ret_nr = nr;
	return 0;
}
