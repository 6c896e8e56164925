/*
 * exit: the exit status of each kind of error.
 */
#ifndef MEMDIAG_UI_EXIT_H
#define MEMDIAG_UI_EXIT_H

#include "base/err.h"

/* ---- exit statuses --------------------------------------------------------------------------- */

enum ui_exit {
	UI_DONE = 0,
	UI_FAILED = 1,
	UI_PARTIAL = 2, /* results are incomplete; the reason is on stderr and in "warnings" */
	UI_GONE = 3,	/* no such process, or it has ended */
	UI_PERMISSION = 4,
	UI_UNSUPPORTED = 5,   /* memdiag does not support this for this target */
	UI_NO_SAFE_POINT = 6, /* no safe point was found in time, nothing was changed */
	UI_USAGE = 64,
	/* Statuses of `run`, as in env(1) and timeout(1) */
	UI_NOT_RUN = 125,
	UI_NOT_EXECUTABLE = 126,
	UI_NOT_FOUND = 127,
};

enum ui_exit ui_exit_of(const struct err *e);

#endif
