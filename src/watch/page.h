/*
 * page: what watch shows of a process, as lines.
 */
#ifndef MEMDIAG_WATCH_PAGE_H
#define MEMDIAG_WATCH_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "ui/ui.h"
#include "watch/history.h"
#include "watch/lines.h"
#include "watch/sample.h"

/* The number by which rows are sorted. */
enum watch_order {
	WATCH_BY_FIRST, /* and the next two: as in struct watch_row */
	WATCH_BY_SECOND,
	WATCH_BY_THIRD,
	WATCH_BY_GROWTH,
	WATCH_BY_NAME,
	NR_WATCH_ORDERS
};

/* The names on the command line. */
extern const char *const watch_order_names[NR_WATCH_ORDERS + 1];

/* The choices of the user. */
struct watch_page {
	enum watch_view view;
	enum watch_order order;
	bool is_reversed;
	bool has_help;	   /* the keys in place of a table */
	int curve;	   /* that the graph shows */
	size_t first;	   /* row of the table that is shown first */
	const char *state; /* "every 2.0 s", "paused", "ended" ...; borrowed */
	const char *note;  /* a message; borrowed; NULL: none */
};

/*
 * Draw P of H into L, which has columns set: with a graph and the keys in at most ROWS lines; with
 * ROWS 0 without them, and with all rows of the table.  P->first is brought into the table.  0, or
 * -1 with E.
 */
int watch_page_draw(struct watch_lines *l, struct watch_page *p, const struct watch_history *h,
	int rows, const struct ui_options *ui, struct err *e);

#endif
