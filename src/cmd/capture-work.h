/*
 * capture-work: the work of `memdiag profile` and `memdiag record` on a running process: begin,
 * end, and write the samples.
 */
#ifndef MEMDIAG_CMD_CAPTURE_WORK_H
#define MEMDIAG_CMD_CAPTURE_WORK_H

#include "capture/capture.h"
#include "ui/option.h"

/* The verbs and options of both commands; the input is a struct capture_options. */
extern const struct ui_syntax capture_work_syntax;

struct push_work_options;

/*
 * Run the command in OPT; a period of 0 means a record.  PUSH_TO is for a one-shot profile, and
 * NULL for a record.  Returns a UI_ status, or -1 with E.
 */
int capture_work_run(
	struct capture_options *opt, const struct push_work_options *push_to, struct err *e);

#endif
