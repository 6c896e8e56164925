/*
 * timeline-svg: a timeline as SVG, alone or in a page of HTML.
 */
#ifndef MEMDIAG_REPORT_TIMELINE_SVG_H
#define MEMDIAG_REPORT_TIMELINE_SVG_H

#include "base/err.h"
#include "recording/live.h"
#include "report/report.h"
#include "report/timeline.h"
#include "ui/ui.h"

/* Print the plot as SVG. */
void timeline_print_svg(const struct timeline_view *v, struct ui_output *out);
/* Print a page with the report ALL, which has the moments of the plot. */
int timeline_print_html(const struct timeline_view *v, const struct report_view *all,
	struct ui_output *out, struct err *e);

#endif
