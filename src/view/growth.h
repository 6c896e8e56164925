/*
 * growth: what grew, as a table and as JSON.
 */
#ifndef MEMDIAG_VIEW_GROWTH_H
#define MEMDIAG_VIEW_GROWTH_H

#include <jansson.h>
#include <stdio.h>

#include "account/growth.h"
#include "ui/ui.h"

/* Name the columns that could not be compared in a line; false if there are none. */
bool growth_print_missing(const struct growth *g, FILE *f);

/* A table of the rows of which a size changed, LIMIT of them if that is not 0. */
int growth_print(const struct growth *g, struct ui_output *out, const struct ui_options *ui,
	size_t limit, struct err *e);
/* All rows: [{"name", and by how much each member grew, or null}]. */
json_t *growth_to_json(const struct growth *g);

#endif
