/* types: the output of 'memdiag types'. */
#ifndef MEMDIAG_VIEW_TYPES_H
#define MEMDIAG_VIEW_TYPES_H

#include "account/pair.h"
#include "census/type-groups.h"
#include "census/types.h"
#include "diagnose/census.h"
#include "ui/json.h"
#include "ui/ui.h"

struct types_report {
	const struct census_answer *of;
	const struct census_type_sums *sums;
	const struct census_type_groups *groups;
	size_t limit; /* rows of a table; 0: all */
};

/* Print R as text.  0, or -1 with E. */
int types_show_text(struct ui_output *out, const struct ui_options *ui,
	const struct types_report *r, struct err *e);

/* Print what has changed in R since an earlier document; P compares both.  0, or -1 with E. */
int types_show_changes(struct ui_output *out, const struct ui_options *ui,
	const struct types_report *r, const struct saved_pair *p, struct err *e);

/* Return R, with all rows, as a JSON document, which the caller releases; NULL with E. */
json_t *types_to_json(const struct types_report *r, struct err *e);

#endif
