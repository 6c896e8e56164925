/*
 * unnamed-text: a remark on functions without names and samples without a stack in a report, and
 * what helps.
 */
#ifndef MEMDIAG_REPORT_UNNAMED_TEXT_H
#define MEMDIAG_REPORT_UNNAMED_TEXT_H

#include <jansson.h>

#include "report/report.h"

/*
 * Lines for people into *RET, which is the caller's to free: "" if hardly anything that is shown is
 * such.  0, or -1 with E.
 */
int report_unnamed_text(char **ret, const struct report_view *v, struct err *e);

/* The same on one line, short. */
int report_unnamed_line(char **ret, const struct report_view *v, struct err *e);

/* Member "unnamed" of DATA: all objects with such functions. */
int report_unnamed_json(const struct report_view *v, json_t *data, struct err *e);

#endif
