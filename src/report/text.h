/*
 * text: a profile as tables and trees of text.
 */
#ifndef MEMDIAG_REPORT_TEXT_H
#define MEMDIAG_REPORT_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "profile/profile.h"
#include "recording/live.h"
#include "report/report.h"
#include "ui/ui.h"

/* flat, flat%, sum%, cum and cum% of each function, line or object. */
int report_print_table(const struct report_view *v, struct ui_output *out, struct err *e);

/* "25.7 MiB", or a number where the values are not bytes, into BUF; returns BUF. */
const char *report_value(const struct report_view *v, int64_t value, char *buf, size_t size);
/* The name of the values for people: "bytes in use". */
const char *report_type_text(const struct profile_type *type, char *buf, size_t size);

#endif
