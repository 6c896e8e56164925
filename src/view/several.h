/*
 * several: what info, heap, trim and status print of several processes: a line for each and their
 * total, or their documents in one.
 */
#ifndef MEMDIAG_VIEW_SEVERAL_H
#define MEMDIAG_VIEW_SEVERAL_H

#include <jansson.h>
#include <stddef.h>

#include "ui/ui.h"
#include "ui/warnings.h"

enum several_unit { SEVERAL_BYTES, SEVERAL_COUNT, SEVERAL_NS };

/* A number of a process's document that has a column, and a total. */
struct several_column {
	const char *title; /* NULL: the list ends here */
	/* Members of the document with dots between them; in a list, the row with this "kind". */
	const char *path;
	const char *member; /* of "totals" */
	enum several_unit unit;
	bool is_shared; /* what counts in each process that maps it: a note says so */
};

/*
 * DOCUMENTS is an array of what --json prints of one process each, in the order to print.  LIMIT
 * is the number of lines, 0 for all.  0, or -1 with E.
 */
int several_print_text(struct ui_output *out, const struct ui_options *ui,
	const struct several_column *columns, json_t *documents, size_t limit, struct err *e);
/* As "processes" and "totals" in a document of COMMAND.  WARNINGS are about processes left out. */
int several_print_json(struct ui_output *out, const char *command,
	const struct several_column *columns, json_t *documents, const struct warnings *warnings,
	struct err *e);

#endif
