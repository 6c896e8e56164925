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

/* Print flat, flat%, sum%, cum and cum% of each function, line or object. */
int report_print_table(const struct report_view *v, struct ui_output *out, struct err *e);

/* Write "25.7 MiB", or a number if the values are not bytes, to BUF and return it. */
const char *report_value(const struct report_view *v, int64_t value, char *buf, size_t size);
/* Return the name of the values in text: "bytes in use". */
const char *report_type_text(const struct profile_type *type, char *buf, size_t size);

/* Return the words for the frames of V. */
const struct report_words *report_words_of(const struct report_view *v);

#endif
