/*
 * flame: a profile as a flame graph in SVG.
 */
#ifndef MEMDIAG_REPORT_FLAME_H
#define MEMDIAG_REPORT_FLAME_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "recording/live.h"
#include "report/report.h"

/* Print the <svg> of a flame graph: as a separate file with IS_FILE, else for a page. */
int flame_put(const struct report_view *v, FILE *f, bool is_file, struct err *e);

#endif
