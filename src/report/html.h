/*
 * html: a profile as a page of HTML.
 */
#ifndef MEMDIAG_REPORT_HTML_H
#define MEMDIAG_REPORT_HTML_H

#include <stdio.h>

#include "base/err.h"
#include "recording/live.h"
#include "report/report.h"

/* Print a page in parts: up to its first heading, a report whose heading has LEVEL, and the end. */
void page_put_head(FILE *f, const char *title);
int page_put_report(const struct report_view *v, FILE *f, int level, struct err *e);
void page_put_tail(FILE *f);

#endif
