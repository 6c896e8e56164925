#include <config.h>

#include "report/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

void
tree_release(struct tree *t)
{
	free(t->v);
	free(t->children);
	free(t->of_path);
	*t = (struct tree){ 0 };
}

static int
tree_no_memory(struct err *e)
{
	return err_set(e, ENOMEM, "cannot make the tree of calls");
}

/* Sort paths with equal beginnings together; the order of the groups does not matter. */
static int
tree_by_steps(const void *a, const void *b, void *arg)
{
	const struct calls *c = arg;
	const struct calls_path *x = &c->paths.v[*(const uint32_t *)a];
	const struct calls_path *y = &c->paths.v[*(const uint32_t *)b];
	size_t nr = x->nr < y->nr ? x->nr : y->nr;
	int r = memcmp(&c->steps.v[x->first], &c->steps.v[y->first], nr * sizeof *c->steps.v);

	return r ? r : (x->nr > y->nr) - (x->nr < y->nr);
}

/* The current path: at[d] is the node at depth d. */
struct tree_walker {
	struct tree *t;
	uint32_t at[TREE_MAX_DEPTH + 1];
	size_t depth;
};

static int
tree_add_path(
	struct tree_walker *w, const struct calls *c, const struct calls_path *path, struct err *e)
{
	const uint32_t *steps = &c->steps.v[path->first];
	size_t nr = path->nr < TREE_MAX_DEPTH ? path->nr : TREE_MAX_DEPTH, same = 0;

	while (same < nr && same < w->depth && w->t->v[w->at[same + 1]].node == steps[same])
		same++;
	for (w->depth = same; w->depth < nr; w->depth++) {
		struct tree_node *n = w->t->nr < UINT32_MAX - 1 ? array_add(w->t) : NULL;

		if (!n)
			return tree_no_memory(e);
		*n = (struct tree_node){ .node = steps[w->depth],
			.parent = w->at[w->depth],
			.depth = (uint32_t)w->depth + 1 };
		w->t->v[w->at[w->depth]].nr_children++;
		w->at[w->depth + 1] = (uint32_t)(w->t->nr - 1);
	}
	w->t->v[w->at[nr]].self = profile_sum(w->t->v[w->at[nr]].self, path->value);
	w->t->of_path[path - c->paths.v] = w->at[nr];
	return 0;
}

/* Add up values and widths from the leaves inwards: children come after their parents. */
static void
tree_sum_up(struct tree *t)
{
	for (size_t i = t->nr; i-- > 0;) {
		struct tree_node *n = &t->v[i], *parent = &t->v[n->parent];
		uint64_t own;

		n->value = profile_sum(n->value, n->self);
		own = n->value > 0 ? (uint64_t)n->value : 0;
		if (n->width < own)
			n->width = own;
		if (i) {
			parent->value = profile_sum(parent->value, n->value);
			parent->width += n->width;
		}
	}
}

static int
tree_by_value(const void *a, const void *b, void *arg)
{
	const struct tree *t = arg;
	const struct tree_node *x = &t->v[*(const uint32_t *)a], *y = &t->v[*(const uint32_t *)b];

	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

static int
sort_children(struct tree *t, struct err *e)
{
	uint32_t at = 0;

	t->children = calloc(t->nr, sizeof *t->children);
	if (!t->children)
		return tree_no_memory(e);
	for (size_t i = 0; i < t->nr; i++) {
		t->v[i].first_child = at;
		at += t->v[i].nr_children;
		t->v[i].nr_children = 0;
	}
	for (size_t i = 1; i < t->nr; i++) {
		struct tree_node *parent = &t->v[t->v[i].parent];

		t->children[parent->first_child + parent->nr_children++] = (uint32_t)i;
	}
	for (size_t i = 0; i < t->nr; i++)
		if (t->v[i].nr_children > 1)
			qsort_r(&t->children[t->v[i].first_child], t->v[i].nr_children,
				sizeof *t->children, tree_by_value, t);
	return 0;
}

int
tree_make(struct tree *t, const struct calls *c, struct err *e)
{
	auto_free uint32_t *order = calloc(c->paths.nr + 1, sizeof *order);
	auto_free struct tree_walker *w = calloc(1, sizeof *w);
	struct tree_node *root = array_add(t);

	t->of_path = calloc(c->paths.nr + 1, sizeof *t->of_path);
	if (!order || !w || !root || !t->of_path)
		return tree_no_memory(e);
	root->node = UINT32_MAX;
	w->t = t;
	for (size_t i = 0; i < c->paths.nr; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, c->paths.nr, sizeof *order, tree_by_steps, (void *)(uintptr_t)c);
	for (size_t i = 0; i < c->paths.nr; i++)
		if (tree_add_path(w, c, &c->paths.v[order[i]], e) < 0)
			return -1;
	tree_sum_up(t);
	return sort_children(t, e);
}
