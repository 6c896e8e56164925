/* types: the output of 'memdiag types'. */
#ifndef MEMDIAG_VIEW_TYPES_H
#define MEMDIAG_VIEW_TYPES_H

#include "census/types.h"
#include "diagnose/census.h"
#include "ui/json.h"
#include "ui/ui.h"

/* Print SUMS of S as text, at most LIMIT types (0: all).  0, or -1 with E. */
int types_show_text(struct ui_output *out, const struct ui_options *ui,
	const struct census_answer *s, const struct census_type_sums *sums, size_t limit,
	struct err *e);

/* Return all types as a JSON document, which the caller releases; NULL with E. */
json_t *types_to_json(
	const struct census_answer *s, const struct census_type_sums *sums, struct err *e);

#endif
