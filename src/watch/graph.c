#include <config.h>

#include "watch/graph.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "ui/units.h"
#include "ui/cells.h"

/* The columns before the graph: "1023.9 KiB |". */
#define LABEL_COLUMNS 12
/* Parts of a row that characters of Unicode can fill. */
#define EIGHTHS 8

struct watch_graph {
	uint64_t *value; /* of each column; owned */
	bool *has;	 /* it has a value; owned */
	int columns, rows, curve;
	uint64_t first_ns, last_ns, greatest;
	bool has_unicode;
};

static void
watch_graph_release(struct watch_graph *g)
{
	free(g->value);
	free(g->has);
}
#define auto_watch_graph __attribute__((cleanup(watch_graph_release)))

/* Return the column of TIME_NS. */
static int
column_of(const struct watch_graph *g, uint64_t time_ns)
{
	const double share = g->last_ns > g->first_ns
		? (double)(time_ns - g->first_ns) / (double)(g->last_ns - g->first_ns)
		: 1;
	const int column = (int)(share * g->columns);

	return column < g->columns ? column : g->columns - 1;
}

/*
 * Fill the columns, also those between two points that are about as far apart as others: without
 * points for a longer time, nothing is known.
 */
static void
graph_fill(struct watch_graph *g, const struct watch_history *h)
{
	const size_t nr = h->points.nr;
	const uint64_t usual_ns = nr > 1 ? (g->last_ns - g->first_ns) / (nr - 1) : 0;
	int before = -1;

	for (size_t i = 0; i < nr; i++) {
		const struct watch_point *p = &h->points.v[i];
		const int column = column_of(g, p->time_ns);
		const uint64_t bytes = p->bytes[g->curve];
		const bool is_near = i && p->time_ns - h->points.v[i - 1].time_ns <= 2 * usual_ns;

		for (int c = before + 1; is_near && c < column; c++) {
			g->value[c] = h->points.v[i - 1].bytes[g->curve];
			g->has[c] = true;
		}
		if (!g->has[column] || bytes > g->value[column])
			g->value[column] = bytes;
		g->has[column] = true;
		if (bytes > g->greatest)
			g->greatest = bytes;
		before = column;
	}
}

/* Print column C in ROW, counted from the bottom. */
static void
graph_put(const struct watch_graph *g, int c, int row, FILE *f)
{
	static const char *const parts[EIGHTHS + 1] = { " ", "\u2581", "\u2582", "\u2583", "\u2584",
		"\u2585", "\u2586", "\u2587", "\u2588" };
	const int steps = g->has_unicode ? EIGHTHS : 1;
	int filled = 0;

	if (g->has[c] && g->greatest)
		filled = (int)((double)g->value[c] / (double)g->greatest * g->rows * steps + 0.5);
	if (g->has[c] && !filled)
		filled = 1;
	filled -= row * steps;
	if (filled > steps)
		filled = steps;
	fputs(filled <= 0 ? " " : g->has_unicode ? parts[filled] : "#", f);
}

static int
graph_add_row(struct watch_lines *l, const struct watch_graph *g, int row,
	const struct ui_options *ui, struct err *e)
{
	auto_free char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	char label[32] = "";

	if (!f)
		return err_set(e, ENOMEM, "cannot draw a graph");
	if (row == g->rows - 1)
		ui_size(ui, g->greatest, label, sizeof label);
	else if (row == g->rows / 2 - 1)
		ui_size(ui, g->greatest / 2, label, sizeof label);
	cells_put(f, label, LABEL_COLUMNS - 2, true);
	fputs(" |", f);
	for (int c = 0; c < g->columns; c++)
		graph_put(g, c, row, f);
	if (fclose(f) != 0)
		return err_set(e, ENOMEM, "cannot draw a graph");
	return watch_lines_add(l, WATCH_GRAPH, e, "%s", text);
}

static int
graph_add_axis(struct watch_lines *l, const struct watch_graph *g, struct err *e)
{
	auto_free char *line = malloc((size_t)g->columns + 1);
	const char *name = watch_curve_name(g->curve);
	char before[40], span[32];

	if (!line)
		return err_set(e, ENOMEM, "cannot draw a graph");
	memset(line, '-', (size_t)g->columns);
	line[g->columns] = '\0';
	snprintf(before, sizeof before, "%s before",
		ui_duration(g->last_ns - g->first_ns, span, sizeof span));
	if (watch_lines_add(l, WATCH_GRAPH, e, "%*s +%s", LABEL_COLUMNS - 2, "0", line) < 0)
		return -1;
	return watch_lines_add(l, WATCH_GRAPH, e, "%*s%-*s%s", LABEL_COLUMNS, "",
		g->columns - cells_width(name), before, name);
}

int
watch_graph_add(struct watch_lines *l, const struct watch_history *h, int curve, int rows,
	const struct ui_options *ui, struct err *e)
{
	const int columns = l->columns - LABEL_COLUMNS;
	auto_watch_graph struct watch_graph g = { .value = calloc((size_t)columns, sizeof *g.value),
		.has = calloc((size_t)columns, sizeof *g.has),
		.columns = columns,
		.rows = rows,
		.curve = curve,
		.has_unicode = cells_have_unicode() };

	if (!g.value || !g.has)
		return err_set(e, ENOMEM, "cannot draw a graph");
	if (h->points.nr) {
		g.first_ns = h->points.v[0].time_ns;
		g.last_ns = h->points.v[h->points.nr - 1].time_ns;
	}
	graph_fill(&g, h);
	for (int row = rows - 1; row >= 0; row--)
		if (graph_add_row(l, &g, row, ui, e) < 0)
			return -1;
	return graph_add_axis(l, &g, e);
}
