/*
 * maps-text: maps as text.
 */
#ifndef MEMDIAG_VIEW_MAPS_TEXT_H
#define MEMDIAG_VIEW_MAPS_TEXT_H

#include <stdio.h>

#include "account/selection.h"
#include "base/err.h"
#include "os/os.h"
#include "os/status.h"
#include "ui/ui.h"
#include "view/maps.h"

/* Print the report as a table, or as JSON.  Returns 0, or -1 with E. */
int maps_show_text(struct ui_output *out, const struct ui_options *ui,
	const struct maps_report *report, struct err *e);

/* Print a line about the selection SEL; print nothing if it selects everything. */
void maps_selection_text(FILE *f, const struct selection *sel);

/* Print the facts about T that all users may read; WHY is the reason that the rest is missing. */
void maps_totals_text(struct ui_output *out, const struct ui_options *ui, const struct target *t,
	const struct os_status *s);

#endif
