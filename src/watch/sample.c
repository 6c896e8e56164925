#include <config.h>

#include "watch/sample.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

const struct watch_view_info watch_views[NR_WATCH_VIEWS] = {
	[WATCH_CLASSES] = { "classes", "CLASS", 'c',
		{ { "RSS", "rss_bytes", true }, { "SWAP", "swap_bytes", true },
			{ "VIRT", "size_bytes", true } } },
	[WATCH_OBJECTS] = { "objects", "OBJECT", 'o',
		{ { "RSS", "rss_bytes", true }, { "SWAP", "swap_bytes", true },
			{ "VIRT", "size_bytes", true } } },
	[WATCH_ARENAS] = { "arenas", "ARENA", 'a',
		{ { "RSS", "rss_bytes", true }, { "SWAP", "swap_bytes", true },
			{ "VIRT", "size_bytes", true } } },
	[WATCH_THREADS] = { "threads", "THREAD", 't',
		{ { "RSS", "rss_bytes", true }, { "SWAP", "swap_bytes", true },
			{ "VIRT", "size_bytes", true } } },
	[WATCH_SITES] = { "sites", "FUNCTION AND CALLER", 's',
		{ { "IN USE", "in_use_bytes", true }, { "BLOCKS", "in_use_blocks", false } } },
	[WATCH_HEAP] = { "heap", "MEMORY OF MALLOC", 'h', { { "BYTES", "bytes", true } } },
};

struct watch_row *
watch_table_add(struct watch_table *t, const char *name, int parent, struct err *e)
{
	char *copy = strdup(name);
	struct watch_row *r = copy ? array_add(t) : NULL;

	if (!r) {
		free(copy);
		err_set(e, ENOMEM, "cannot keep a row of a table");
		return NULL;
	}
	r->name = copy;
	r->parent = parent;
	return r;
}

const char *
watch_parent(const struct watch_table *t, const struct watch_row *r)
{
	return r->parent == WATCH_NO_PARENT ? NULL : t->v[r->parent].name;
}

const struct watch_row *
watch_table_find(const struct watch_table *t, const char *name, const char *parent)
{
	for (size_t i = 0; i < t->nr; i++) {
		const char *its = watch_parent(t, &t->v[i]);

		if (strcmp(t->v[i].name, name) == 0 && !its == !parent &&
			(!its || strcmp(its, parent) == 0))
			return &t->v[i];
	}
	return NULL;
}

/* ---- order ---- */

struct sample_sorting {
	const struct watch_table *t;
	watch_compare_fn *compare;
	void *arg;
};

/* Compare rows by the ancestors below the one that both have. */
static int
compare_rows(const void *a, const void *b, void *arg)
{
	const struct sample_sorting *sorting = arg;
	const struct watch_table *t = sorting->t;
	const size_t i = *(const size_t *)a, k = *(const size_t *)b;
	const int one = t->v[i].parent, two = t->v[k].parent;
	const struct watch_row *x = &t->v[one < 0 ? (int)i : one];
	const struct watch_row *y = &t->v[two < 0 ? (int)k : two];
	int result;

	if (x == y && (one < 0 || two < 0)) /* a parent comes before its parts */
		return (one >= 0) - (two >= 0);
	if (x == y) {
		x = &t->v[i];
		y = &t->v[k];
	}
	result = sorting->compare(t, x, y, sorting->arg);
	return result ? result : (x > y) - (x < y);
}

void
watch_table_order(const struct watch_table *t, watch_compare_fn *compare, void *arg, size_t *order)
{
	struct sample_sorting sorting = { t, compare, arg };

	for (size_t i = 0; i < t->nr; i++)
		order[i] = i;
	qsort_r(order, t->nr, sizeof *order, compare_rows, &sorting);
}

static int
compare_first(const struct watch_table *t, const struct watch_row *a, const struct watch_row *b,
	void *arg)
{
	(void)t, (void)arg;
	return (a->number[0] < b->number[0]) - (a->number[0] > b->number[0]);
}

int
watch_table_finish(struct watch_table *t, struct err *e)
{
	auto_free size_t *order = calloc(t->nr + 1, sizeof *order);
	struct watch_row *sorted = calloc(t->nr + 1, sizeof *sorted);
	int *to = calloc(t->nr + 1, sizeof *to);

	if (!order || !sorted || !to) {
		free(sorted);
		free(to);
		return err_set(e, ENOMEM, "cannot sort the rows of a table");
	}
	watch_table_order(t, compare_first, NULL, order);
	for (size_t i = 0; i < t->nr; i++)
		to[order[i]] = (int)i;
	for (size_t i = 0; i < t->nr; i++) {
		sorted[i] = t->v[order[i]];
		if (sorted[i].parent != WATCH_NO_PARENT)
			sorted[i].parent = to[sorted[i].parent];
	}
	free(to);
	free(t->v);
	t->v = sorted;
	t->room = t->nr + 1;
	for (; t->nr > WATCH_MAX_ROWS; t->nr_more++)
		free(t->v[--t->nr].name);
	return 0;
}

/* ---- the end ---- */

void
watch_sample_release(struct watch_sample *s)
{
	for (int view = 0; view < NR_WATCH_VIEWS; view++) {
		struct watch_table *t = &s->table[view];

		for (size_t i = 0; i < t->nr; i++)
			free(t->v[i].name);
		free(t->v);
		free(t->why);
	}
	*s = (struct watch_sample){ 0 };
}
