/* workload: a program that a command starts, to observe it from its first instruction. */
#ifndef MEMDIAG_CMD_WORKLOAD_H
#define MEMDIAG_CMD_WORKLOAD_H

#include <limits.h>
#include <stdbool.h>

#include "base/err.h"
#include "os/os.h"

struct workload {
	char **argv; /* of the program, borrowed; NULL: no program is started */
	char path[PATH_MAX];
	char **environment; /* owned, without the strings it points to */
	struct os_child *child;
	bool is_running; /* started, and its end was not yet waited for */
};

/*
 * Take the program of the command line, which follows the first word "--": *ARGC becomes the number
 * of words before it.  S must be zeroed; release it in any case.  Call this before argp, which adds
 * to the environment.  Returns 0, or -1 with E if no word follows.
 */
int workload_take(struct workload *s, int *argc, char **argv, struct err *e);

/*
 * Find the program, and create the process that will execute it, which waits and becomes T's.  Call
 * this before memdiag changes anything that a program inherits.  Returns 0, or -1 with
 * program_find()'s E.
 */
int workload_prepare(struct workload *s, struct err *e);

/*
 * Execute the program, and open it as T, which is already held.  From then on until the program
 * ends memdiag forwards signals, as `memdiag run` does.  Returns 0, or -1 with E if it cannot be
 * executed.
 */
int workload_go(struct workload *s, struct target *t, struct err *e);

/*
 * Wait for the program to end.  Returns memdiag's exit status: the program's own, or one for the
 * signal that ended it.
 */
int workload_end(struct workload *s);

/* Release S; waits for a running program to end. */
void workload_release(struct workload *s);

#endif
