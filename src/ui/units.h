/*
 * units: sizes and durations as text.
 */
#ifndef MEMDIAG_UI_UNITS_H
#define MEMDIAG_UI_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ui/ui.h"

/*
 * Format a size as OPT requires: "1.2 GiB", or with -b "1288490188".  Writes to BUF and returns it.
 */
const char *ui_size(const struct ui_options *opt, uint64_t bytes, char *buf, size_t size);
/*
 * ui_size() as an expression without a buffer, for an argument or an initialiser: it is valid until
 * the end of the block, and a statement after if, else, for or while is a block of its own.
 */
#define UI_SIZE(opt, bytes) ui_size((opt), (bytes), (char[32]){ 0 }, 32)
/* Write TEXT to BUF, after a "~" if IS_ROUGH, and return it; print UI_ROUGH_LEGEND below. */
const char *ui_mark(const char *text, bool is_rough, char *buf, size_t size);
#define UI_MARK(text, is_rough) ui_mark((text), (is_rough), (char[40]){ 0 }, 40)
/* Format a difference with its sign: "+1.2 GiB", "-3.0 KiB", "0". */
const char *ui_size_change(const struct ui_options *opt, int64_t bytes, char *buf, size_t size);
/* Format a duration: "850 us", "12.3 ms", "1.2 s". */
const char *ui_duration(uint64_t ns, char *buf, size_t size);

/* Write a bar for SHARE (0..1) of WIDTH columns to BUF and return it. */
const char *ui_bar(double share, int width, char *buf, size_t size);

#endif
