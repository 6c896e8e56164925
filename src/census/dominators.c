/*
 * Semi-NCA (Georgiadis, Tarjan, Werneck: Finding Dominators in Practice, 2006): depth-first
 * order, semidominators by path compression, and then the nearest common ancestor of the
 * semidominator and the parent.  Its time is bounded for every graph; iterating to a fixed point
 * is quadratic for long lists, which heaps have.
 *
 * In the arrays below, nodes stand at their places in depth-first order; place 0 is the process.
 */
#include <config.h>

#include "census/dominators.h"

#include "base/array.h"
#include "census/chunks.h"
#include "census/edges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct tree_step {
	uint32_t node, next;
};

struct tree_work {
	struct census_dominators *d;
	const struct census *c;
	const struct census_owners *owners;
	uint32_t *parent; /* by place */
	uint32_t *semi, *label, *ancestor;
	uint64_t *first_from; /* by place: the first of its predecessors in FROM, and one more */
	uint32_t *from;
	struct {
		struct tree_step *v;
		size_t nr, room;
	} path;
	struct {
		uint32_t *v;
		size_t nr, room;
	} chain;
};

void
census_dominators_release(struct census_dominators *d)
{
	free(d->node);
	free(d->place);
	free(d->idom);
	free(d->held);
	*d = (struct census_dominators){ 0 };
}

/* ---- the graph ---- */

/* Return the chunks that a node leads to, *RET_NR of them; the process leads to owners instead. */
static const uint32_t *
tree_targets(const struct tree_work *w, uint32_t node, uint32_t *ret_nr)
{
	const uint32_t nr_owners = w->d->nr_owners;

	if (node > nr_owners)
		return census_edges_of(&w->c->edges, node - nr_owners - 1, ret_nr);
	*ret_nr = w->owners->owner.v[node - 1].nr;
	return w->owners->to + w->owners->owner.v[node - 1].first;
}

static bool
is_of_thread(const struct tree_work *w, uint32_t owner)
{
	return w->owners->owner.v[owner].kind == CENSUS_STACK;
}

/* ---- depth first ---- */

static int
tree_enter(struct tree_work *w, uint32_t node, uint32_t parent)
{
	struct census_dominators *d = w->d;
	struct tree_step *step = array_add(&w->path);

	if (!step)
		return -1;
	step->node = node;
	d->place[node] = d->nr;
	d->node[d->nr] = node;
	w->parent[d->nr] = parent;
	d->nr++;
	return 0;
}

/* Visit all that NODE, a child of the process, leads to and that was not visited before. */
static int
tree_visit(struct tree_work *w, uint32_t node)
{
	struct census_dominators *d = w->d;

	if (tree_enter(w, node, CENSUS_NODE_PROCESS) < 0)
		return -1;
	while (w->path.nr) {
		struct tree_step *step = &w->path.v[w->path.nr - 1];
		const uint32_t place = d->place[step->node];
		uint32_t nr;
		const uint32_t *to = tree_targets(w, step->node, &nr);

		while (step->next < nr &&
			d->place[census_chunk_node(d, to[step->next])] != CENSUS_NO_NODE)
			step->next++;
		if (step->next == nr)
			w->path.nr--;
		else if (tree_enter(w, census_chunk_node(d, to[step->next++]), place) < 0)
			return -1;
	}
	return 0;
}

/*
 * Visit all nodes, from variables and mappings first and from threads last.  *RET_LAST is the first
 * place of what only threads hold.
 */
static int
tree_number(struct tree_work *w, uint32_t *ret_last)
{
	struct census_dominators *d = w->d;

	memset(d->place, 0xff, (d->nr_owners + 1 + w->c->chunks.state.nr) * sizeof *d->place);
	d->place[CENSUS_NODE_PROCESS] = 0;
	d->node[0] = CENSUS_NODE_PROCESS;
	d->nr = 1;
	for (int threads = 0; threads < 2; threads++) {
		if (threads)
			*ret_last = d->nr;
		for (uint32_t i = 0; i < d->nr_owners; i++)
			if (is_of_thread(w, i) == threads &&
				tree_visit(w, census_owner_node(i)) < 0)
				return -1;
	}
	return 0;
}

/* ---- predecessors ---- */

/*
 * Return whether the edge from place FROM to place TO counts: what only threads hold begins at
 * place LAST.
 */
static bool
edge_counts(uint32_t from, uint32_t to, uint32_t last)
{
	return from < last || to >= last;
}

/* Count the edges of NODE that count at their targets, or in the second round store them there. */
static void
tree_take_edges(struct tree_work *w, uint32_t node, uint32_t last, bool stores)
{
	const struct census_dominators *d = w->d;
	const uint32_t from = d->place[node];
	uint32_t nr;
	const uint32_t *to = tree_targets(w, node, &nr);

	for (uint32_t i = 0; i < nr; i++) {
		const uint32_t place = d->place[census_chunk_node(d, to[i])];

		if (!edge_counts(from, place, last))
			continue;
		if (stores)
			w->from[w->first_from[place]++] = from;
		else
			w->first_from[place]++;
	}
}

/* Go through nodes in the order of their numbers: then the reads of edges are in order, too. */
static void
tree_each_node(struct tree_work *w, uint32_t last, bool stores)
{
	const uint32_t nr = (uint32_t)(w->d->nr_owners + 1 + w->c->chunks.state.nr);

	for (uint32_t node = 1; node < nr; node++)
		if (w->d->place[node] != CENSUS_NO_NODE)
			tree_take_edges(w, node, last, stores);
}

static int
tree_find_predecessors(struct tree_work *w, uint32_t last)
{
	const uint32_t nr = w->d->nr;
	uint64_t sum = 0;

	w->first_from = calloc((size_t)nr + 1, sizeof *w->first_from);
	if (!w->first_from)
		return -1;
	tree_each_node(w, last, false);
	for (uint32_t i = 0; i <= nr; i++) {
		const uint64_t here = i < nr ? w->first_from[i] : 0;

		w->first_from[i] = sum;
		sum += here;
	}
	w->from = malloc((sum + 1) * sizeof *w->from);
	if (!w->from)
		return -1;
	tree_each_node(w, last, true);
	/* Storing has moved each to the beginning of the next. */
	memmove(w->first_from + 1, w->first_from, nr * sizeof *w->first_from);
	w->first_from[0] = 0;
	return 0;
}

/* ---- semidominators ---- */

/* Shorten the chain of ancestors of V, and keep the labels with the least semidominators. */
static int
tree_compress(struct tree_work *w, uint32_t v)
{
	uint32_t above;

	w->chain.nr = 0;
	while (w->ancestor[w->ancestor[v]] != CENSUS_NO_NODE) {
		uint32_t *added = array_add(&w->chain);

		if (!added)
			return -1;
		*added = v;
		v = w->ancestor[v];
	}
	above = v;
	while (w->chain.nr) {
		v = w->chain.v[--w->chain.nr];
		if (w->semi[w->label[above]] < w->semi[w->label[v]])
			w->label[v] = w->label[above];
		w->ancestor[v] = w->ancestor[above];
		above = v;
	}
	return 0;
}

static int
tree_find_semi(struct tree_work *w)
{
	const uint32_t nr = w->d->nr;

	for (uint32_t i = 0; i < nr; i++) {
		w->semi[i] = w->label[i] = i;
		w->ancestor[i] = CENSUS_NO_NODE;
	}
	for (uint32_t i = nr; i-- > 1;) {
		w->semi[i] = w->parent[i];
		for (uint64_t k = w->first_from[i]; k < w->first_from[i + 1]; k++) {
			const uint32_t from = w->from[k];
			uint32_t semi = from;

			if (w->ancestor[from] != CENSUS_NO_NODE) {
				if (tree_compress(w, from) < 0)
					return -1;
				semi = w->semi[w->label[from]];
			}
			if (semi < w->semi[i])
				w->semi[i] = semi;
		}
		w->ancestor[i] = w->parent[i];
	}
	return 0;
}

static void
tree_find_idom(struct tree_work *w)
{
	uint32_t *idom = w->d->idom;

	idom[0] = 0;
	for (uint32_t i = 1; i < w->d->nr; i++) {
		idom[i] = w->parent[i];
		while (idom[i] > w->semi[i])
			idom[i] = idom[idom[i]];
	}
}

/* ---- sums ---- */

/* Fill D->held; IS_RESIDENT: with the bytes of C that are in memory. */
static void
tree_sum(struct census_dominators *d, const struct census *c, bool is_resident)
{
	struct census_cursor at = CENSUS_CURSOR_NONE;
	size_t next = 0;

	memset(d->held, 0, d->nr * sizeof *d->held);
	while (census_chunks_next(&c->chunks, &at)) {
		const uint32_t place = d->place[census_chunk_node(d, at.chunk)];

		if (place != CENSUS_NO_NODE)
			d->held[place] = (struct census_sum){ 1,
				is_resident ? census_resident_bytes(c, &at, &next)
					    : census_block_bytes(c, &at) };
	}
	for (uint32_t i = d->nr; i-- > 1;) {
		d->held[d->idom[i]].blocks += d->held[i].blocks;
		d->held[d->idom[i]].bytes += d->held[i].bytes;
	}
}

/* ---- all of it ---- */

static int
dominators_make(struct tree_work *w)
{
	struct census_dominators *d = w->d;
	const size_t nr = d->nr_owners + 1 + w->c->chunks.state.nr;
	uint32_t last = 0;

	d->node = malloc(nr * sizeof *d->node);
	d->place = malloc(nr * sizeof *d->place);
	w->parent = malloc(nr * sizeof *w->parent);
	if (!d->node || !d->place || !w->parent || tree_number(w, &last) < 0 ||
		tree_find_predecessors(w, last) < 0)
		return -1;
	w->semi = malloc(d->nr * sizeof *w->semi);
	w->label = malloc(d->nr * sizeof *w->label);
	w->ancestor = malloc(d->nr * sizeof *w->ancestor);
	d->idom = malloc(d->nr * sizeof *d->idom);
	if (!w->semi || !w->label || !w->ancestor || !d->idom || tree_find_semi(w) < 0)
		return -1;
	tree_find_idom(w);
	d->held = malloc(d->nr * sizeof *d->held);
	if (!d->held)
		return -1;
	tree_sum(d, w->c, false);
	return 0;
}

int
census_dominators_find(struct census_dominators *d, const struct census *c,
	const struct census_owners *owners, struct err *e)
{
	struct tree_work w = { .d = d, .c = c, .owners = owners };
	int failed;

	d->nr_owners = (uint32_t)owners->owner.nr;
	failed = dominators_make(&w);
	free(w.parent);
	free(w.semi);
	free(w.label);
	free(w.ancestor);
	free(w.first_from);
	free(w.from);
	free(w.path.v);
	free(w.chain.v);
	if (failed) {
		census_dominators_release(d);
		return err_set(e, ENOMEM, "cannot find which blocks hold which");
	}
	return 0;
}

void
census_dominators_count_resident(struct census_dominators *d, const struct census *c)
{
	tree_sum(d, c, true);
}

/* ---- from the top ---- */

int
census_children_find(struct census_children *children, const struct census_dominators *d)
{
	children->first = calloc(d->nr, sizeof *children->first);
	children->next = calloc(d->nr, sizeof *children->next);
	if (!children->first || !children->next) {
		census_children_release(children);
		return -1;
	}
	for (uint32_t i = d->nr; i-- > 1;) {
		children->next[i] = children->first[d->idom[i]];
		children->first[d->idom[i]] = i;
	}
	return 0;
}

void
census_children_release(struct census_children *children)
{
	free(children->first);
	free(children->next);
	*children = (struct census_children){ 0 };
}
