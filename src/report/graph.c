#include <config.h>

#include "report/graph.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "profile/hash.h"
#include "report/format.h"
#include "report/text.h"
#include "ui/ui.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A larger graph is unreadable. */
#define MAX_NODES 80
#define LEAST_NODE 0.005
#define LEAST_EDGE 0.001
#define MAX_LABEL_BYTES 120

struct edge {
	uint32_t from, to;
	int64_t value;
	size_t last_path; /* last path that contained it, plus 1: recursion counts once */
};

struct graph {
	const struct report_view *v;
	FILE *f;
	bool *is_shown; /* by node */
	struct {
		struct edge *v;
		size_t nr, room;
	} edges;
	struct hash by_ends;
};

static void
graph_release(struct graph *g)
{
	free(g->is_shown);
	free(g->edges.v);
	hash_release(&g->by_ends);
}

static double
share_of(const struct graph *g, int64_t value)
{
	return fabs(calls_share(g->v->c, value));
}

/* Print S in quotes: a backslash begins an escape of graphviz. */
static void
put_quoted(FILE *f, const char *s)
{
	char text[MAX_LABEL_BYTES * 4];
	auto_free char *cut = strndup(s, MAX_LABEL_BYTES);

	text_printable(cut ? cut : "", text, sizeof text);
	for (const char *at = text; *at; at++) {
		if (*at == '"' || *at == '\\')
			fputc('\\', f);
		fputc(*at, f);
	}
	if (strlen(s) > MAX_LABEL_BYTES)
		fputs("...", f);
}

static int
choose_nodes(struct graph *g, struct err *e)
{
	const struct calls *c = g->v->c;
	auto_free uint32_t *order = calls_order(c, true);

	g->is_shown = calloc(c->nodes.nr + 1, sizeof *g->is_shown);
	if (!order || !g->is_shown)
		return err_set(e, ENOMEM, "cannot make the graph");
	for (size_t i = 0; i < c->nodes.nr && i < MAX_NODES; i++)
		g->is_shown[order[i]] = c->nodes.v[order[i]].cum &&
			calls_share_of_shown(c, c->nodes.v[order[i]].cum) >= LEAST_NODE;
	return 0;
}

static int
add_edge(struct graph *g, uint32_t from, uint32_t to, size_t path, int64_t value, struct err *e)
{
	uint32_t hash = hash_pair(from, to);
	const struct hash_slot *slot;
	struct edge *edge = NULL;

	for (size_t at = hash; !edge && (slot = hash_next(&g->by_ends, hash, &at));) {
		edge = &g->edges.v[slot->number_1 - 1];
		if (edge->from != from || edge->to != to)
			edge = NULL;
	}
	if (!edge) {
		edge = array_add(&g->edges);
		if (!edge || hash_add(&g->by_ends, hash, g->edges.nr - 1) < 0)
			return err_set(e, ENOMEM, "cannot make the graph");
		*edge = (struct edge){ from, to, 0, 0 };
	}
	if (edge->last_path != path + 1)
		edge->value = profile_sum(edge->value, value);
	edge->last_path = path + 1;
	return 0;
}

static int
add_edges(struct graph *g, struct err *e)
{
	const struct calls *c = g->v->c;

	for (size_t i = 0; i < c->paths.nr; i++) {
		const struct calls_path *path = &c->paths.v[i];
		uint32_t before = UINT32_MAX;

		for (size_t k = 0; k < path->nr; k++) {
			uint32_t node = c->steps.v[path->first + k];

			if (!g->is_shown[node])
				continue;
			if (before != UINT32_MAX && before != node &&
				add_edge(g, before, node, i, path->value, e) < 0)
				return -1;
			before = node;
		}
	}
	return 0;
}

static void
graph_put_node(const struct graph *g, uint32_t i)
{
	const struct calls_node *n = &g->v->c->nodes.v[i];
	double share = share_of(g, n->flat);
	unsigned int pale = 245 - (unsigned int)(120 * (share < 1 ? share : 1));
	char flat[32], cum[32];

	fprintf(g->f, "n%u [label=\"", i);
	put_quoted(g->f, n->name);
	fprintf(g->f, "\\n%s (%.1f%%)", report_value(g->v, n->flat, flat, sizeof flat),
		100 * calls_share(g->v->c, n->flat));
	if (n->cum != n->flat)
		fprintf(g->f, "\\nof %s (%.1f%%)", report_value(g->v, n->cum, cum, sizeof cum),
			100 * calls_share(g->v->c, n->cum));
	fprintf(g->f, "\" fontsize=%.0f fillcolor=\"#%02x%02x%02x\"]\n",
		9 + 22 * sqrt(share < 1 ? share : 1), 245, pale, pale);
}

static void
put_edge(const struct graph *g, const struct edge *edge)
{
	double share = share_of(g, edge->value);
	char value[32];

	if (calls_share_of_shown(g->v->c, edge->value) < LEAST_EDGE)
		return;
	fprintf(g->f, "n%u -> n%u [label=\" %s\" penwidth=%.1f]\n", edge->from, edge->to,
		report_value(g->v, edge->value, value, sizeof value),
		1 + 5 * (share < 1 ? share : 1));
}

int
report_print_dot(const struct report_view *v, FILE *f, struct err *e)
{
	__attribute__((cleanup(graph_release))) struct graph g = { .v = v, .f = f };
	const struct profile_type *type = &v->p->types.v[v->c->options.type];
	char text[160], value[32];

	if (choose_nodes(&g, e) < 0 || add_edges(&g, e) < 0)
		return -1;
	fputs("digraph calls {\nnode [shape=box style=filled fontname=\"Helvetica\"]\n"
	      "edge [fontname=\"Helvetica\" fontsize=10]\nlegend [shape=note fillcolor=\"#ffffff\" "
	      "fontsize=14 label=\"",
		f);
	put_quoted(f, v->file);
	fputs("\\l", f);
	put_quoted(f, report_type_text(type, text, sizeof text));
	fprintf(f, "\\lTotal: %s\\l\"]\n", report_value(v, v->c->shown, value, sizeof value));
	for (uint32_t i = 0; i < v->c->nodes.nr; i++)
		if (g.is_shown[i])
			graph_put_node(&g, i);
	for (size_t i = 0; i < g.edges.nr; i++)
		put_edge(&g, &g.edges.v[i]);
	fputs("}\n", f);
	return 0;
}

static int
graph_write(const struct report_view *v, struct ui_output *out, struct err *e)
{
	return report_print_dot(v, out->f, e);
}

const struct report_format report_format_dot = { "dot", FORMAT_NEEDS_CALLS, 0, graph_write };
