/*
 * watch-terminal: what 'memdiag watch' does on a terminal.
 */
#ifndef MEMDIAG_CMD_WATCH_TERMINAL_H
#define MEMDIAG_CMD_WATCH_TERMINAL_H

#include "base/err.h"
#include "cmd/watch-work.h"

/* Show W on the terminal, which is usable, until the user ends it.  0, or -1 with E. */
int watch_on_terminal(struct watch_work *w, struct err *e);

#endif
