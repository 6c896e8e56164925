/*
 * xml: what the SVG and the page of a report share.
 */
#ifndef MEMDIAG_REPORT_XML_H
#define MEMDIAG_REPORT_XML_H

#include <stdio.h>

#include "report/report.h"

/* S as text of XML or HTML, also in an attribute; what is behind MAX_BYTES becomes "...". */
void xml_put(FILE *f, const char *s, size_t max_bytes);

/* A page in parts: up to its first heading, a report whose heading is of LEVEL, and the end. */
void page_put_head(FILE *f, const char *title);
int page_put_report(const struct report_view *v, FILE *f, int level, struct err *e);
void page_put_tail(FILE *f);

/* The <svg> of a flame graph; as a file of its own with IS_FILE, else within a page. */
int flame_put(const struct report_view *v, FILE *f, bool is_file, struct err *e);

#endif
