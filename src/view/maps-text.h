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

/* Print it as a table for people, or as JSON.  0, or -1 with E. */
int maps_show_text(struct ui_output *out, const struct ui_options *ui,
	const struct maps_report *report, struct err *e);

/* A line that says what SEL takes; none if it takes all. */
void maps_selection_text(FILE *f, const struct selection *sel);

/* The facts about T that all users may read; WHY is the reason that there are no more. */
void maps_totals_text(struct ui_output *out, const struct ui_options *ui, const struct target *t,
	const struct os_status *s);

#endif
