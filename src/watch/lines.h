/*
 * lines: a page of text, before it is known where it is shown.
 */
#ifndef MEMDIAG_WATCH_LINES_H
#define MEMDIAG_WATCH_LINES_H

#include <stddef.h>

#include "base/err.h"

/* The look of a line, where colours or attributes are at hand. */
enum watch_style {
	WATCH_PLAIN,
	WATCH_TITLE, /* of the page */
	WATCH_HEAD,  /* of a table */
	WATCH_GRAPH,
	WATCH_ALERT, /* something that is not as usual */
	NR_WATCH_STYLES
};

struct watch_line {
	enum watch_style style;
	char *text; /* owned; UTF-8, printable, without a newline */
};

struct watch_lines {
	struct watch_line *v;
	size_t nr, room;
	int columns; /* set by the caller: no line is longer */
};

/* Add a line, cut to L->columns.  0, or -1 with E. */
int watch_lines_add(struct watch_lines *l, enum watch_style style, struct err *e, const char *fmt,
	...) __attribute__((format(printf, 4, 5)));

/* Drop all lines after the first NR. */
void watch_lines_limit(struct watch_lines *l, size_t nr);

void watch_lines_release(struct watch_lines *l);
#define auto_watch_lines __attribute__((cleanup(watch_lines_release)))

#endif
