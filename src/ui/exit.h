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
	UI_PARTIAL = 2, /* some of it is missing; why is on stderr and in "warnings" */
	UI_GONE = 3,	/* no such process, or it went away */
	UI_PERMISSION = 4,
	UI_UNSUPPORTED = 5,   /* memdiag cannot do this to this target */
	UI_NO_SAFE_POINT = 6, /* no safe point in time, nothing changed */
	UI_USAGE = 64,
	/* Statuses of `run`, as of env(1) and timeout(1) */
	UI_NOT_RUN = 125,
	UI_NOT_EXECUTABLE = 126,
	UI_NOT_FOUND = 127,
};

enum ui_exit ui_exit_of(const struct err *e);

#endif
