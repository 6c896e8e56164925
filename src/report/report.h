/*
 * report: a profile as text, JSON and HTML.
 */
#ifndef MEMDIAG_REPORT_REPORT_H
#define MEMDIAG_REPORT_REPORT_H

#include <jansson.h>

#include "recording/choice.h"
#include "report/calls.h"
#include "ui/ui.h"

/* A block in use, of a stack of the profile. */
struct report_block {
	raddr at;
	uint64_t bytes;
	uint32_t tid; /* that has allocated it; 0: unknown */
	uint32_t stack;
};

struct report_blocks {
	struct report_block *v; /* the largest first */
	size_t nr, room;
	uint64_t nr_more; /* that are left out */
};

struct warnings;

struct report_view {
	const struct profile *p;
	const struct calls *c;
	/*
	 * The blocks of C's bytes, with the same nodes; NULL: they are not shown.
	 */
	const struct calls *blocks;
	const char *file;
	const char *base; /* the file that was subtracted; NULL: none */
	const struct ui_options *ui;
	/* the blocks that P has alone, of a log; NULL: all */
	const struct history_choice *choice;
	const struct history_chosen *chosen;   /* their sums */
	const struct report_blocks *addresses; /* single blocks, in text and JSON; NULL: none */
	size_t limit;			       /* rows; 0: all */
	bool by_cum;			       /* the greatest cum first */
	bool symbols_inside;		       /* names go into the file, too */
	const struct warnings *warnings;       /* of the reader; NULL: none */
};

/* flat, flat%, sum%, cum and cum% of each function, line or object. */
int report_print_table(const struct report_view *v, struct ui_output *out, struct err *e);
/* The graph of calls, for dot of graphviz. */
int report_print_dot(const struct report_view *v, FILE *f, struct err *e);
/* The members of "data". */
int report_to_json(const struct report_view *v, json_t *data, struct err *e);

/* "25.7 MiB", or a number where the values are not bytes, into BUF; returns BUF. */
const char *report_value(const struct report_view *v, int64_t value, char *buf, size_t size);
/* The name of the values for people: "bytes in use". */
const char *report_type_text(const struct profile_type *type, char *buf, size_t size);

#endif
