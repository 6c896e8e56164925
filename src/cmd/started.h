/*
 * started: a program that a command starts, to look at it from its first instruction on.
 */
#ifndef MEMDIAG_CMD_STARTED_H
#define MEMDIAG_CMD_STARTED_H

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"
#include "os/os.h"

struct started {
	char **argv; /* of the program, borrowed; NULL: none is started */
	char path[PATH_MAX];
	char **environment; /* owned, but not what it points to */
	struct os_child *child;
	bool is_running; /* it was started, and its end was not waited for */
};

/*
 * Take the program of the command line, which follows the first word "--": *ARGC is what is before
 * that.  S must be zeroed, and is to be released in any case.  Before argp, which adds to the
 * environment.  0, or -1 with E: no word follows.
 */
int started_take(struct started *s, int *argc, char **argv, struct err *e);

/*
 * Find the program, and make the process that will execute it, which is T's then and waits.  Before
 * memdiag changes in itself what a program inherits.  0, or -1 with E: that of program_find().
 */
int started_prepare(struct started *s, struct err *e);

/*
 * Execute the program, and open it as T, which is held already.  From then on until it ends memdiag
 * passes on signals, as `memdiag run` does.  0, or -1 with E: it cannot be executed.
 */
int started_go(struct started *s, struct target *t, struct err *e);

/* Wait for its end.  Returns memdiag's exit status: its own, or by the signal that has ended it. */
int started_end(struct started *s);

/* Waits for the end of a program that runs. */
void started_release(struct started *s);

#endif
