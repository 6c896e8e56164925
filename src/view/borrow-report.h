/*
 * borrow-report: the thread that was borrowed, as text and JSON.
 */
#ifndef MEMDIAG_VIEW_BORROW_REPORT_H
#define MEMDIAG_VIEW_BORROW_REPORT_H

#include <jansson.h>
#include <stddef.h>

#include "inject/malloc.h"

/* Return the borrowed thread and the duration, as in "thread 12 was held for 300 us". */
const char *borrow_report_text(const struct inject_report *r, char *buf, size_t size);
/*
 * Return the borrowed thread for JSON: {"mode","tid","held_us","held_ns"}, or null if no thread was
 * borrowed.
 */
json_t *borrow_report_json(const struct inject_report *r);

#endif
