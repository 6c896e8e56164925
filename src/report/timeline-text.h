/*
 * timeline-text: a timeline as text.
 */
#ifndef MEMDIAG_REPORT_TIMELINE_TEXT_H
#define MEMDIAG_REPORT_TIMELINE_TEXT_H

#include "base/err.h"
#include "recording/live.h"
#include "report/timeline.h"
#include "ui/ui.h"

/*
 * Print a plot as wide as the terminal: local maxima and the peak, and below it mapped memory, if
 * any, and RSS, if known.
 */
int timeline_print_text(const struct timeline_view *v, struct ui_output *out, struct err *e);

#endif
