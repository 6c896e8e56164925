/*
 * xml: the document of malloc_info(), written from what was read.
 */
#ifndef MEMDIAG_HEAP_XML_H
#define MEMDIAG_HEAP_XML_H

#include "base/err.h"
#include "base/text.h"
#include "heap/heap.h"

/*
 * Write the document that malloc_info(0, f) of the target's libc would write to OUT; for a libc
 * before 2.31 in the form of 2.31.
 */
int heap_write_xml(const struct heap *h, struct text *out, struct err *e);

#endif
