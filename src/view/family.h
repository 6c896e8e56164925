/* family: print the processes of one `memdiag run --follow-children`, as text and as JSON. */
#ifndef MEMDIAG_VIEW_FAMILY_H
#define MEMDIAG_VIEW_FAMILY_H

#include <jansson.h>

#include "agentctl/family.h"
#include "ui/ui.h"

/* Print one line about all processes together. */
void family_print_sum(const struct family *f, const struct ui_options *opt, FILE *to);
/* Print a table of at most MAX_ROWS processes (0: all); OPTION is the option that shows all. */
int family_print(const struct family *f, const struct ui_options *opt, struct ui_output *out,
	size_t max_rows, const char *option, struct err *e);
/* Add the sum, and all processes, to the object DATA. */
int family_to_json(const struct family *f, json_t *data, struct err *e);

#endif
