#include <config.h>

#include "report/timeline-massif.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "profile/symbols.h"
#include "recording/profiles.h"
#include "report/calls.h"

/* massif's defaults: --max-snapshots, --detailed-freq, --depth, --threshold. */
#define MAX_SNAPSHOTS 100
#define DETAILED_EVERY 10
#define MAX_DEPTH 30
#define THRESHOLD 0.01

#define NS_PER_MS 1000000

/* ---- choice of snapshots ---- */

static size_t
nr_snapshots(const struct history *h)
{
	return h->intervals.nr < MAX_SNAPSHOTS ? h->intervals.nr : MAX_SNAPSHOTS;
}

/*
 * Return the interval of snapshot I: the one with the largest maximum in its share of all
 * intervals.
 */
static size_t
interval_of(const struct history *h, size_t i)
{
	size_t best = i * h->intervals.nr / nr_snapshots(h);
	size_t end = (i + 1) * h->intervals.nr / nr_snapshots(h);

	for (size_t k = best + 1; k < end; k++)
		if (h->intervals.v[k].max.live.bytes > h->intervals.v[best].max.live.bytes)
			best = k;
	return best;
}

static bool
is_detailed(const struct history *h, size_t i)
{
	return i % DETAILED_EVERY == DETAILED_EVERY - 1 || i + 1 == nr_snapshots(h) ||
		interval_of(h, i) == timeline_peak(h);
}

int
timeline_massif_choose(const struct history *h, size_t **ret, size_t *nr, struct err *e)
{
	*nr = 0;
	*ret = calloc(MAX_SNAPSHOTS, sizeof **ret);
	if (!*ret)
		return err_set(e, ENOMEM, "cannot write snapshots");
	for (size_t i = 0; i < nr_snapshots(h); i++)
		if (is_detailed(h, i))
			(*ret)[(*nr)++] = interval_of(h, i);
	return 0;
}

/* ---- trees of callers ---- */

/* A tree from the allocating places up to their callers: massif's, upside down. */
struct callers {
	FILE *f;
	const struct calls *c;
	int64_t threshold;
};

static uint32_t
timeline_massif_node_at(const struct callers *t, uint32_t path, size_t depth)
{
	const struct calls_path *p = &t->c->paths.v[path];

	return depth < p->nr ? t->c->steps.v[p->first + p->nr - 1 - depth] : UINT32_MAX;
}

struct timeline_massif_group {
	uint32_t *paths; /* the paths that have the node at this depth */
	size_t nr;
	uint32_t node;
	int64_t value;
};

struct groups {
	struct timeline_massif_group *v;
	size_t nr, room;
};

static void
groups_release(struct groups *g)
{
	free(g->v);
}

struct timeline_massif_order {
	const struct callers *t;
	size_t depth;
};

static int
by_node(const void *a, const void *b, void *arg)
{
	const struct timeline_massif_order *o = arg;
	uint32_t x = timeline_massif_node_at(o->t, *(const uint32_t *)a, o->depth);
	uint32_t y = timeline_massif_node_at(o->t, *(const uint32_t *)b, o->depth);

	return (x > y) - (x < y);
}

static int
timeline_massif_by_value(const void *a, const void *b)
{
	const struct timeline_massif_group *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	return (x->node > y->node) - (x->node < y->node);
}

/* Group the NR PATHS by their node at DEPTH; paths that end before are in no group. */
static int
timeline_massif_divide(
	const struct callers *t, uint32_t *paths, size_t nr, size_t depth, struct groups *ret)
{
	struct timeline_massif_order o = { t, depth };

	qsort_r(paths, nr, sizeof *paths, by_node, &o);
	for (size_t i = 0; i < nr; i++) {
		uint32_t node = timeline_massif_node_at(t, paths[i], depth);
		struct timeline_massif_group *g = ret->nr ? &ret->v[ret->nr - 1] : NULL;

		if (node == UINT32_MAX)
			continue;
		if (!g || g->node != node) {
			g = array_add(ret);
			if (!g)
				return -1;
			*g = (struct timeline_massif_group){ .paths = &paths[i], .node = node };
		}
		g->nr++;
		g->value += t->c->paths.v[paths[i]].value;
	}
	if (ret->nr)
		qsort(ret->v, ret->nr, sizeof *ret->v, timeline_massif_by_value);
	return 0;
}

/* Print a name on one line without "#", which begins a comment in ms_print. */
static void
put_name(FILE *f, const char *name)
{
	const size_t size = 4 * strlen(name) + 1;
	auto_free char *shown = malloc(size);

	if (!shown)
		return;
	text_printable(name, shown, size);
	for (const char *c = shown; *c; c++)
		fputc(*c == '#' ? '?' : *c, f);
}

/* Print " n2: 1000 0x0: function (file.c:12)": massif has an address there, but a line has many. */
static void
timeline_massif_put_node(const struct callers *t, uint32_t number)
{
	const struct calls_node *n = &t->c->nodes.v[number];

	fputs(" 0x0: ", t->f);
	put_name(t->f, *n->function ? n->function : n->name);
	fputs(" (", t->f);
	if (*n->file) {
		put_name(t->f, n->file);
		fprintf(t->f, ":%" PRIu32, n->line);
	} else {
		fputs("in ", t->f);
		put_name(t->f, *n->object ? n->object : "???");
	}
	fputs(")\n", t->f);
}

/* Print NODE (UINT32_MAX: the root) with VALUE of the NR PATHS, and its callers below. */
static int
put_callers(const struct callers *t, uint32_t node, int64_t value, uint32_t *paths, size_t nr,
	size_t depth)
{
	__attribute__((cleanup(groups_release))) struct groups groups = { 0 };
	size_t nr_shown = 0;
	int64_t rest = 0;

	if (depth < MAX_DEPTH && timeline_massif_divide(t, paths, nr, depth, &groups) < 0)
		return -1;
	while (nr_shown < groups.nr && groups.v[nr_shown].value >= t->threshold)
		nr_shown++;
	for (size_t i = nr_shown; i < groups.nr; i++)
		rest += groups.v[i].value;
	fprintf(t->f, "%*sn%zu: %" PRId64, (int)depth, "", nr_shown + (nr_shown < groups.nr),
		value);
	if (node == UINT32_MAX)
		fputs(" (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n", t->f);
	else
		timeline_massif_put_node(t, node);
	for (size_t i = 0; i < nr_shown; i++)
		if (put_callers(t, groups.v[i].node, groups.v[i].value, groups.v[i].paths,
			    groups.v[i].nr, depth + 1) < 0)
			return -1;
	if (nr_shown < groups.nr)
		fprintf(t->f,
			"%*sn0: %" PRId64
			" in %zu place%s, all below massif's threshold (%.2f%%)\n",
			(int)depth + 1, "", rest, groups.nr - nr_shown,
			groups.nr - nr_shown == 1 ? "" : "s", 100 * THRESHOLD);
	return 0;
}

static int
put_tree(struct timeline_massif *w, const struct history_moment *m, struct err *e)
{
	const struct calls_options options = { .type = 1, .by = CALLS_BY_LINE };
	auto_profile struct profile *p = NULL;
	auto_calls struct calls c = { 0 };
	auto_free uint32_t *paths = NULL;
	struct callers t = { w->f, &c, (int64_t)((double)m->max.live.bytes * THRESHOLD) };

	if (history_moment_profile(&p, NULL, m, w->r, e) < 0 ||
		symbols_find(p, w->symbols, e) < 0 || calls_make(&c, p, &options, e) < 0)
		return -1;
	paths = calloc(c.paths.nr + 1, sizeof *paths);
	for (size_t i = 0; paths && i < c.paths.nr; i++)
		paths[i] = (uint32_t)i;
	if (!paths || put_callers(&t, UINT32_MAX, m->max.live.bytes, paths, c.paths.nr, 0) < 0)
		return err_set(e, ENOMEM, "cannot write snapshots");
	return 0;
}

/* ---- snapshots ---- */

static void
timeline_massif_put_head(struct timeline_massif *w)
{
	static const char command[] = "command: ";
	const struct profile *facts = w->v->r->facts;
	/* if no command was recorded */
	const char *cmd = w->v->file ? w->v->file : "???";

	for (size_t i = 0; i < facts->comments.nr; i++)
		if (strncmp(facts->comments.v[i], command, strlen(command)) == 0)
			cmd = facts->comments.v[i] + strlen(command);
	fputs("desc: written by memdiag timeline\ncmd: ", w->f);
	put_name(w->f, cmd);
	fputs("\ntime_unit: ms\n", w->f);
}

/* Print the next snapshot, up to its tree. */
static void
put_snapshot(struct timeline_massif *w)
{
	const struct history *h = w->v->h;
	const struct history_interval *i = &h->intervals.v[interval_of(h, w->nr_written)];

	if (!w->nr_written)
		timeline_massif_put_head(w);
	fprintf(w->f,
		"#-----------\nsnapshot=%zu\n#-----------\ntime=%" PRIu64 "\nmem_heap_B=%" PRId64
		"\nmem_heap_extra_B=0\nmem_stacks_B=0\n",
		w->nr_written++, i->max.at_ns / NS_PER_MS, i->max.live.bytes);
}

int
timeline_massif_take(void *arg, struct history_moment *m, struct err *e)
{
	struct timeline_massif *w = arg;
	const struct history *h = w->v->h;

	while (interval_of(h, w->nr_written) != m->interval) {
		put_snapshot(w);
		fputs("heap_tree=empty\n", w->f);
	}
	put_snapshot(w);
	fprintf(w->f, "heap_tree=%s\n", m->interval == timeline_peak(h) ? "peak" : "detailed");
	return put_tree(w, m, e);
}

void
timeline_massif_end(struct timeline_massif *w)
{
	while (w->nr_written < nr_snapshots(w->v->h)) {
		put_snapshot(w);
		fputs("heap_tree=empty\n", w->f);
	}
}
