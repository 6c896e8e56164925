/*
 * batch: the output of info, heap, trim and status for several processes: a line for each and
 * their total, or their documents combined.
 */
#ifndef MEMDIAG_VIEW_BATCH_H
#define MEMDIAG_VIEW_BATCH_H

#include <jansson.h>
#include <stddef.h>

#include "ui/ui.h"
#include "ui/warnings.h"

enum batch_unit { BATCH_BYTES, BATCH_COUNT, BATCH_NS };

/* A number in a process's document that has a column and a total. */
struct batch_column {
	const char *title; /* NULL ends the list */
	/* Names of members joined by dots; in a list, the name is the row's "kind". */
	const char *path;
	const char *member; /* of "totals" */
	enum batch_unit unit;
	bool is_shared; /* counted in each process that maps it; a note explains this */
};

/*
 * DOCUMENTS is an array of the --json output of each process, in the order to print.  LIMIT is the
 * number of lines, 0 for all.  Returns 0, or -1 with E.
 */
int batch_print_text(struct ui_output *out, const struct ui_options *ui,
	const struct batch_column *columns, json_t *documents, size_t limit, struct err *e);
/* Print "processes" and "totals" in a document of COMMAND.  WARNINGS concern skipped processes. */
int batch_print_json(struct ui_output *out, const char *command, const struct batch_column *columns,
	json_t *documents, const struct warnings *warnings, struct err *e);

#endif
