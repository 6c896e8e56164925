/*
 * output: what is printed, and the file that takes it.
 */
#ifndef MEMDIAG_UI_OUTPUT_H
#define MEMDIAG_UI_OUTPUT_H

#include "base/err.h"
#include "ui/ui.h"

/* ---- output ---------------------------------------------------------------------------------- */

/*
 * Make sure that descriptors 0, 1 and 2 are taken, before anything is opened: one that was closed
 * stays unwritable.  0, or -1 when /dev/null cannot be opened.
 */
int ui_keep_standard_files(void);

int ui_output_open(struct ui_output *o, const struct ui_options *opt, struct err *e);
/* The same for a command whose standard output is its program's: standard error without -o. */
int ui_output_open_beside(struct ui_output *o, const struct ui_options *opt, struct err *e);
/* Note how large the terminal is now, if O is one. */
void ui_output_measure(struct ui_output *o);
/*
 * Flush, check that all of it was written, as on a full disk, and rename. 0, also if the reader of
 * a pipe has gone, or -1 with E.
 */
int ui_output_close(struct ui_output *o, struct err *e);
/* The net below ui_output_close(): drops what was not closed, removes the temporary file. */
void ui_output_release(struct ui_output *o);
#define auto_output __attribute__((cleanup(ui_output_release)))

/* A note for the person, on stderr, "memdiag: ..."; nothing with -q. */
void ui_note(const struct ui_options *opt, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Write TEXT and a newline to O, where LEAD columns of a line are filled already.  On a terminal it
 * is broken between words, and goes on under its beginning.
 */
void ui_wrap(const struct ui_output *o, int lead, const char *text);

#endif
