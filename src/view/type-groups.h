/* type-groups: the output of 'memdiag types --by' but for types. */
#ifndef MEMDIAG_VIEW_TYPE_GROUPS_H
#define MEMDIAG_VIEW_TYPE_GROUPS_H

#include "ui/json.h"
#include "ui/ui.h"
#include "view/types.h"

/* Print the groups of R as a table: those with the most bytes first.  0, or -1 with E. */
int type_groups_show_text(struct ui_output *out, const struct ui_options *ui,
	const struct types_report *r, struct err *e);

/* Return the groups of R that have blocks as a list, in the same order; NULL with E. */
json_t *type_groups_to_json(const struct types_report *r, struct err *e);

#endif
