/*
 * unnamed-text: a remark on functions without names and samples without a stack in a report, and
 * the remedy.
 */
#ifndef MEMDIAG_REPORT_UNNAMED_TEXT_H
#define MEMDIAG_REPORT_UNNAMED_TEXT_H

#include <jansson.h>

#include "report/report.h"

/*
 * Store text lines in *RET, which the caller frees: "" if these are only a small part of the
 * report.  Returns 0, or -1 with E.
 */
int report_unnamed_text(char **ret, const struct report_view *v, struct err *e);

/* As report_unnamed_text(), but one short line. */
int report_unnamed_line(char **ret, const struct report_view *v, struct err *e);

/* Set member "unnamed" of DATA: all objects with such functions. */
int report_unnamed_json(const struct report_view *v, json_t *data, struct err *e);

#endif
