/*
 * maps: what 'memdiag maps' prints.
 */
#ifndef MEMDIAG_VIEW_MAPS_H
#define MEMDIAG_VIEW_MAPS_H

#include <stddef.h>

#include "account/growth.h"
#include "account/rows.h"
#include "base/err.h"
#include "maps/maps.h"
#include "os/os.h"
#include "ui/ui.h"
#include "ui/warnings.h"

/* The data to print. */
struct maps_report {
	const struct target *t; /* NULL: of a saved map */
	const struct space *s;
	enum rows_by by;
	enum rows_sort sort;
	size_t limit;	     /* of lines; 0: none */
	unsigned int extras; /* bits of enum extra: columns that are asked for */
	const struct selection *selection;
	const struct rows *rows;
	const struct row *const *order; /* of rows */
	const uint32_t *leaves; /* BY_MAPPING in place of both: leaves of the space, in order */
	size_t nr_leaves;
	const struct repeats *repeats;
	const struct warnings *warnings; /* for JSON; may be NULL */
	json_t *since;			 /* the document to compare with, or NULL; borrowed */
	const struct growth *growth;	 /* then this is printed instead of the rows */
};

/* "filter": what SEL takes; JSON's null if it takes all. */
json_t *selection_to_json(const struct selection *sel);

/*
 * Have REPORT print what grew since OLD, a document of saved_maps_read() that is added up by the
 * same, sorted by report->sort.  GROWTH must be zeroed and is filled in; it and OLD stay the
 * caller's, and must outlive REPORT.  0, or -1 with E.
 */
int maps_compare(struct maps_report *report, json_t *old, struct growth *growth, struct err *e);

/* Print it as a table for people, or as JSON.  0, or -1 with E. */
int maps_show_text(struct ui_output *out, const struct ui_options *ui,
	const struct maps_report *report, struct err *e);
int maps_show_json(struct ui_output *out, const struct maps_report *report, struct err *e);

/* "from": the saved map that S is of. */
json_t *maps_file_json(const struct space *s);
/* Add the remarks on a saved map to W. */
void maps_file_warn(const struct space *s, struct warnings *w);

/* A line that says what SEL takes; none if it takes all. */
void maps_selection_text(FILE *f, const struct selection *sel);

/* The table of BY_MAPPING alone.  ui_output_close() reports errors of writing. */
void maps_show_mappings(
	struct ui_output *out, const struct ui_options *ui, const struct maps_report *report);

/* The facts about T that all users may read; WHY is the reason that there are no more. */
void maps_totals_text(struct ui_output *out, const struct ui_options *ui, const struct target *t,
	const struct os_status *s);
int maps_totals_json(struct ui_output *out, const struct target *t, const struct os_status *s,
	const struct err *why, struct err *e);

#endif
