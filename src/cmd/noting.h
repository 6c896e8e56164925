/*
 * noting: what `memdiag profile` and `memdiag record` do with a process that runs: begin, end, and
 * write what was noted.
 */
#ifndef MEMDIAG_CMD_NOTING_H
#define MEMDIAG_CMD_NOTING_H

#include "capture/options.h"
#include "ui/option.h"

/* The verbs, and options of both commands; its input is a struct profile_options. */
extern const struct ui_syntax noting_syntax;

/* Do what OPT says; with a period of 0 that is a record.  Returns a UI_ status, or -1 with E. */
int noting_run(struct profile_options *opt, struct err *e);

#endif
