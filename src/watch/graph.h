/*
 * graph: a curve over time, drawn with characters.
 */
#ifndef MEMDIAG_WATCH_GRAPH_H
#define MEMDIAG_WATCH_GRAPH_H

#include "base/err.h"
#include "ui/ui.h"
#include "watch/history.h"
#include "watch/lines.h"

/* Lines below the rows: an axis, and times. */
#define WATCH_GRAPH_AXIS 2

/* Fewer columns are not enough for it. */
#define WATCH_GRAPH_COLUMNS 32

/*
 * Add CURVE of H to L: ROWS rows from 0 to the greatest value, and WATCH_GRAPH_AXIS lines.  A
 * column is the greatest value of its time, and blank without one.  0, or -1 with E.
 */
int watch_graph_add(struct watch_lines *l, const struct watch_history *h, int curve, int rows,
	const struct ui_options *ui, struct err *e);

#endif
