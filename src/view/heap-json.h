/*
 * heap-json: a heap as JSON.
 */
#ifndef MEMDIAG_VIEW_HEAP_JSON_H
#define MEMDIAG_VIEW_HEAP_JSON_H

#include <jansson.h>

#include "base/err.h"
#include "view/heap.h"

/* heap-json.c; returns the document, which the caller frees, NULL with E. */
json_t *heap_to_json(const struct heap_report *report, struct err *e);

#endif
