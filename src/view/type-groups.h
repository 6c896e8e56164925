/* type-groups: the output of 'memdiag types --by' for modules, arenas and sizes. */
#ifndef MEMDIAG_VIEW_TYPE_GROUPS_H
#define MEMDIAG_VIEW_TYPE_GROUPS_H

#include "census/type-groups.h"
#include "census/types.h"
#include "ui/json.h"
#include "ui/ui.h"

/*
 * Print the groups G, which have sums in SUMS, as a table: those with the most bytes first, and at
 * most LIMIT of them (0: all).  0, or -1 with E.
 */
int type_groups_show_text(struct ui_output *out, const struct ui_options *ui,
	const struct census_type_groups *g, const struct census_type_sums *sums, size_t limit,
	struct err *e);

/* Return the groups that have blocks as a list, in the same order; NULL with E. */
json_t *type_groups_to_json(
	const struct census_type_groups *g, const struct census_type_sums *sums, struct err *e);

#endif
