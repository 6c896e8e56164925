/*
 * units: sizes and durations as text.
 */
#ifndef MEMDIAG_UI_UNITS_H
#define MEMDIAG_UI_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ui/ui.h"

/* A size as OPT wants it: "1.2 GiB", or with -b "1288490188".  Into BUF; returns BUF. */
const char *ui_size(const struct ui_options *opt, uint64_t bytes, char *buf, size_t size);
/* The same as an expression that needs no buffer; good until the end of the block. */
#define UI_SIZE(opt, bytes) ui_size((opt), (bytes), (char[32]){ 0 }, 32)
/* TEXT, behind a "~" if it IS_ROUGH; then UI_ROUGH_LEGEND belongs below.  Into BUF; returns BUF. */
const char *ui_mark(const char *text, bool is_rough, char *buf, size_t size);
#define UI_MARK(text, is_rough) ui_mark((text), (is_rough), (char[40]){ 0 }, 40)
/* A difference with its sign: "+1.2 GiB", "-3.0 KiB", "0". */
const char *ui_size_change(const struct ui_options *opt, int64_t bytes, char *buf, size_t size);
/* A duration: "850 us", "12.3 ms", "1.2 s". */
const char *ui_duration(uint64_t ns, char *buf, size_t size);

/* A bar of SHARE (0..1) of WIDTH columns, into BUF; returns BUF. */
const char *ui_bar(double share, int width, char *buf, size_t size);

#endif
