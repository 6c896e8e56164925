/* batch: a command that examines several processes one after another. */
#ifndef MEMDIAG_CMD_BATCH_H
#define MEMDIAG_CMD_BATCH_H

#include <jansson.h>

#include "os/os.h"
#include "ui/ui.h"
#include "view/batch.h"

typedef int batch_fn(const struct target *t, void *arg, struct err *e);

/*
 * Call FN once for each process in ASKED.  A process for which FN fails, or that has ended, is
 * skipped: W gets a warning and becomes partial.  Returns -1 with E if all fail, or at once if E is
 * a usage or memory error.
 */
int batch_each(const struct ui_processes *asked, batch_fn *fn, void *arg, struct warnings *w,
	struct err *e);

struct batch {
	const char *command;
	const char *progress; /* as for ui_progress_begin() */
	const struct batch_column *columns;
	size_t limit; /* limit of lines; 0: unlimited */
	/* Return the document of process PID; NULL with E.  ARG is the command's. */
	json_t *(*to_json)(pid_t pid, void *arg, struct err *e);
	void *arg;
};

/*
 * Examine the processes that UI names, as batch_each() does, and print them together.  Returns
 * the exit status, or -1 with E.
 */
int batch_run(const struct batch *what, struct ui_options *ui, struct err *e);

#endif
