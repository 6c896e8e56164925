/* xml: shared by the SVG and the page of a report. */
#ifndef MEMDIAG_REPORT_XML_H
#define MEMDIAG_REPORT_XML_H

#include <stddef.h>
#include <stdio.h>

/*
 * Print S as text of XML or HTML, also for attributes; "..." replaces everything after MAX_BYTES.
 */
void xml_put(FILE *f, const char *s, size_t max_bytes);

#endif
