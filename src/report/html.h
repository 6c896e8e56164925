/*
 * html: a profile as a page of HTML, which needs no other file and no network.
 */
#ifndef MEMDIAG_REPORT_HTML_H
#define MEMDIAG_REPORT_HTML_H

#include <stdio.h>

#include "base/err.h"
#include "report/report.h"

/*
 * Print a page in parts: up to its heading, one report with a line of FACTS (NULL: without), and
 * the end.  HAS_MOMENTS: the report has moments.  0, or -1 with E.
 */
void page_put_head(FILE *f, const char *title, bool has_moments);
int page_put_report(const struct report_view *v, FILE *f, const char *facts, struct err *e);
void page_put_tail(FILE *f, bool has_moments);

#endif
