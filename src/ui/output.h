/*
 * output: what is printed, and the file that takes it.
 */
#ifndef MEMDIAG_UI_OUTPUT_H
#define MEMDIAG_UI_OUTPUT_H

#include "base/err.h"
#include "ui/ui.h"

/* ---- output ---------------------------------------------------------------------------------- */

/*
 * Make sure that descriptors 0, 1 and 2 are open, before any file is opened: a closed one remains
 * unwritable.  Returns 0, or -1 if /dev/null cannot be opened.
 */
int ui_keep_standard_files(void);

int ui_output_open(struct ui_output *o, const struct ui_options *opt, struct err *e);
/*
 * As ui_output_open(), for a command whose standard output belongs to its program: standard error
 * without -o.
 */
int ui_output_open_beside(struct ui_output *o, const struct ui_options *opt, struct err *e);
/* Store the terminal's present size, if O is a terminal. */
void ui_output_measure(struct ui_output *o);
/*
 * Give O's file its name now, for data that grows as long as memdiag runs, and is of use even if it
 * is killed.  Returns 0, or -1 with E.
 */
int ui_output_publish(struct ui_output *o, struct err *e);
/*
 * Flush, check that everything was written, for example on a full disk, and rename.  Returns 0,
 * also if the reader of a pipe has gone, or -1 with E.
 */
int ui_output_close(struct ui_output *o, struct err *e);
/* Clean up if ui_output_close() was not called: discard the data, and remove the temporary file. */
void ui_output_release(struct ui_output *o);
#define auto_output __attribute__((cleanup(ui_output_release)))

/* Print a note, "memdiag: ...", on stderr; nothing with -q. */
void ui_note(const struct ui_options *opt, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Write TEXT and a newline to O, where LEAD columns of a line are already filled.  On a terminal,
 * wrap between words, and indent the following lines to the start of TEXT.
 */
void ui_wrap(const struct ui_output *o, int lead, const char *text);

#endif
