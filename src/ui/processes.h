/*
 * processes: the processes that --pid names.
 */
#ifndef MEMDIAG_UI_PROCESSES_H
#define MEMDIAG_UI_PROCESSES_H

#include "base/err.h"
#include "ui/ui.h"

/*
 * Set o->pid to the requested process, 0 without one, and free o->asked.  A name must match one
 * process: ERR_GONE if no process has it, ERR_USAGE if several do, which are listed on standard
 * error.  Returns 0, or -1 with E.
 */
int ui_find_process(struct ui_options *o, struct err *e);

/*
 * As ui_find_process(), for several processes: afterwards those in o->asked have their PIDs,
 * without duplicates, and o->pid is the first one.  The caller frees o->asked.v, even on failure.
 */
int ui_find_processes(struct ui_options *o, struct err *e);

#endif
