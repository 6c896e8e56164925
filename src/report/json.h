/*
 * json: a profile as JSON.
 */
#ifndef MEMDIAG_REPORT_JSON_H
#define MEMDIAG_REPORT_JSON_H

#include <jansson.h>

#include "base/err.h"
#include "recording/live.h"
#include "report/report.h"

/* Add the members of "data". */
int report_to_json(const struct report_view *v, json_t *data, struct err *e);

#endif
