/* What grew between two lists of rows. */
#include <config.h>

#include "cmd/maps-rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct change_order {
	const struct rows *was, *is;
	enum rows_sort sort;
};

/* ---- matching: both lists by name, like a zip ---- */

static const char *
parent_name(const struct rows *rows, const struct row *r)
{
	return r->parent == NO_PARENT ? "" : rows->v[r->parent].name;
}

static int
by_name(const struct rows *in_a, const struct row *a, const struct rows *in_b, const struct row *b)
{
	int order = strcmp(parent_name(in_a, a), parent_name(in_b, b));

	return order ? order : strcmp(a->name, b->name);
}

static int
by_name_in_one(const void *x, const void *y, void *rows)
{
	return by_name(rows, *(const struct row *const *)x, rows, *(const struct row *const *)y);
}

static const struct row **
sorted_by_name(const struct rows *rows)
{
	const struct row **v = malloc((rows->nr + 1) * sizeof *v);

	if (!v)
		return NULL;
	for (size_t i = 0; i < rows->nr; i++)
		v[i] = &rows->v[i];
	qsort_r(v, rows->nr, sizeof *v, by_name_in_one, (void *)(uintptr_t)rows);
	return v;
}

/* ---- growth ---- */

static uint64_t
number(const struct row *r, enum rows_sort sort)
{
	if (!r)
		return 0;
	switch (sort) {
	case SORT_VIRT:
		return r->virt_bytes;
	case SORT_SWAP:
		return r->swap_bytes;
	case SORT_HUGETLB:
		return r->hugetlb_bytes;
	case SORT_COUNT:
		return r->count;
	default:
		return r->rss_bytes;
	}
}

int64_t
row_growth(const struct row_change *c, enum rows_sort sort)
{
	return (int64_t)(number(c->is, sort) - number(c->was, sort));
}

static int
compare_growth(const struct row_change *a, const struct row_change *b, enum rows_sort sort)
{
	const struct row *row_a = a->is ? a->is : a->was, *row_b = b->is ? b->is : b->was;
	int64_t x = row_growth(a, sort), y = row_growth(b, sort);

	if (sort != SORT_NAME && x != y)
		return x > y ? -1 : 1;
	if (sort != SORT_NAME && row_growth(a, SORT_VIRT) != row_growth(b, SORT_VIRT))
		return row_growth(a, SORT_VIRT) > row_growth(b, SORT_VIRT) ? -1 : 1;
	return strcmp(row_a->name, row_b->name);
}

static int
by_growth(const void *a, const void *b, void *sort)
{
	return compare_growth(a, b, *(enum rows_sort *)sort);
}

int
rows_compare(const struct rows *was, const struct rows *is, enum rows_sort sort,
	struct row_change **ret, size_t *ret_nr, struct err *e)
{
	auto_free const struct row **old = sorted_by_name(was);
	auto_free const struct row **new = sorted_by_name(is);
	struct row_change *v = malloc((was->nr + is->nr + 1) * sizeof *v);
	size_t i = 0, k = 0, nr = 0;

	if (!old || !new || !v) {
		free(v);
		return err_set(e, ENOMEM, "cannot compare");
	}
	while (i < was->nr || k < is->nr) {
		int order = i == was->nr ? 1
			: k == is->nr	 ? -1
					 : by_name(was, old[i], is, new[k]);

		v[nr].was = order <= 0 ? old[i++] : NULL;
		v[nr++].is = order >= 0 ? new[k++] : NULL;
	}
	qsort_r(v, nr, sizeof *v, by_growth, &sort);
	*ret = v;
	*ret_nr = nr;
	return 0;
}
