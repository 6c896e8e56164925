/* run: the output of 'memdiag run' after the program has ended. */
#ifndef MEMDIAG_VIEW_RUN_H
#define MEMDIAG_VIEW_RUN_H

#include <jansson.h>

#include "agentctl/family.h"
#include "os/child.h"
#include "ui/ui.h"
#include "wire/totals.h"
#include "wire/wire.h"

/* The data to print. */
struct run_report {
	const char *program;
	const struct os_end *end;
	const struct wire_segment *segment; /* NULL: the agent did not start in the program */
	struct wire_totals sum;		    /* of COUNTED */
	const struct family *family;	    /* NULL: children were not followed */
	bool has_limit_for_all;
	int64_t limit_bytes; /* of each process; INT64_MAX: unlimited */
};

/* Print a line, and a table of the processes if several ran.  Returns 0, or -1 with E. */
int run_print_text(const struct run_report *r, const struct ui_options *opt, struct ui_output *out,
	struct err *e);
/* Return the document, which the caller frees; NULL with E. */
json_t *run_to_json(const struct run_report *r, struct err *e);

#endif
