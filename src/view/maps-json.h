/*
 * maps-json: maps as JSON.
 */
#ifndef MEMDIAG_VIEW_MAPS_JSON_H
#define MEMDIAG_VIEW_MAPS_JSON_H

#include <jansson.h>

#include "account/growth.h"
#include "account/selection.h"
#include "base/err.h"
#include "os/os.h"
#include "os/status.h"
#include "ui/ui.h"
#include "view/maps.h"

/* Return "filter": what SEL selects; JSON's null if it selects everything. */
json_t *selection_to_json(const struct selection *sel);

/*
 * Make REPORT print the growth since OLD, a document of saved_maps_read() with the same grouping,
 * sorted by report->sort.  GROWTH must be zeroed and is filled in.  The caller keeps GROWTH and
 * OLD, which must outlive REPORT.  Returns 0, or -1 with E.
 */
int maps_compare(struct maps_report *report, json_t *old, struct growth *growth, struct err *e);
int maps_show_json(struct ui_output *out, const struct maps_report *report, struct err *e);
int maps_totals_json(struct ui_output *out, const struct target *t, const struct os_status *s,
	const struct err *why, struct err *e);

#endif
