/*
 * maps-show: what 'memdiag maps' prints.
 */
#ifndef MEMDIAG_CMD_MAPS_SHOW_H
#define MEMDIAG_CMD_MAPS_SHOW_H

#include <stddef.h>

#include "base/err.h"
#include "cmd/growth.h"
#include "cmd/maps-rows.h"
#include "maps/maps.h"
#include "ui/ui.h"

/* What there is to tell. */
struct maps_report {
	const struct target *t;
	const struct space *s;
	enum rows_by by;
	enum rows_sort sort;
	size_t limit;		/* of lines; 0: none */
	const struct rows *rows;
	const struct row *const *order;	/* of rows */
	const struct repeats *repeats;
	json_t *since;		/* the document to compare with, or NULL; borrowed */
	const struct growth *growth;	/* then this is told instead of the rows */
};

/* What of the groups in the document may grow. */
extern const struct growth_list maps_growth;

/* Print it as a table for people, or as JSON.  0, or -1 with E. */
int maps_show_text(struct ui_output *out, const struct ui_options *ui,
	const struct maps_report *report, struct err *e);
int maps_show_json(struct ui_output *out, const struct maps_report *report, struct err *e);

/* What everybody may know of T; WHY is in the way of more. */
void maps_totals_text(struct ui_output *out, const struct ui_options *ui, const struct target *t,
	const struct os_status *s);
int maps_totals_json(struct ui_output *out, const struct target *t, const struct os_status *s,
	const struct err *why, struct err *e);

#endif
