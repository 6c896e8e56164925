/* growth: print growth as a table and as JSON. */
#ifndef MEMDIAG_VIEW_GROWTH_H
#define MEMDIAG_VIEW_GROWTH_H

#include <jansson.h>
#include <stdio.h>

#include "account/growth.h"
#include "ui/ui.h"

/* Print the names of columns that could not be compared, in a line; false if all could be. */
bool growth_print_missing(const struct growth *g, FILE *f);

/* Print a table of the rows whose sizes changed, at most LIMIT rows (0: all). */
int growth_print(const struct growth *g, struct ui_output *out, const struct ui_options *ui,
	size_t limit, struct err *e);
/* Return all rows: [{"name", and each member's growth or null}]. */
json_t *growth_to_json(const struct growth *g);

#endif
