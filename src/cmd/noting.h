/*
 * noting: the work of `memdiag profile` and `memdiag record` on a running process: begin, end, and
 * write the samples.
 */
#ifndef MEMDIAG_CMD_NOTING_H
#define MEMDIAG_CMD_NOTING_H

#include "capture/options.h"
#include "ui/option.h"

/* The verbs and options of both commands; the input is a struct profile_options. */
extern const struct ui_syntax noting_syntax;

/* Run the command in OPT; a period of 0 means a record.  Returns a UI_ status, or -1 with E. */
int noting_run(struct profile_options *opt, struct err *e);

#endif
