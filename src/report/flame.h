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

/* The <svg> of a flame graph; as a file of its own with IS_FILE, else within a page. */
int flame_put(const struct report_view *v, FILE *f, bool is_file, struct err *e);

#endif
