/*
 * xml: what the SVG and the page of a report share.
 */
#ifndef MEMDIAG_REPORT_XML_H
#define MEMDIAG_REPORT_XML_H

#include <stddef.h>
#include <stdio.h>

/* S as text of XML or HTML, also in an attribute; what is behind MAX_BYTES becomes "...". */
void xml_put(FILE *f, const char *s, size_t max_bytes);

#endif
