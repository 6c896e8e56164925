/*
 * several: a command that looks at one process after another.
 */
#ifndef MEMDIAG_CMD_SEVERAL_H
#define MEMDIAG_CMD_SEVERAL_H

#include <jansson.h>

#include "os/os.h"
#include "ui/ui.h"
#include "view/several.h"

typedef int several_fn(const struct target *t, void *arg, struct err *e);

/*
 * Call FN for each process of ASKED, once.  One for which it fails, or that has ended, is left out:
 * a warning into W, which is partial then.  -1 with E if that is so of all, or at once if E is of
 * the command line or of memory.
 */
int several_each(const struct ui_processes *asked, several_fn *fn, void *arg, struct warnings *w,
	struct err *e);

struct several {
	const char *command;
	const char *progress; /* as of ui_progress_begin() */
	const struct several_column *columns;
	size_t limit; /* of lines; 0: none */
	/* The document of process PID; NULL with E.  ARG is the command's. */
	json_t *(*to_json)(pid_t pid, void *arg, struct err *e);
	void *arg;
};

/*
 * Look at the processes that UI asks for, as several_each() does, and print them together.
 * Returns the exit status, or -1 with E.
 */
int several_run(const struct several *what, struct ui_options *ui, struct err *e);

#endif
