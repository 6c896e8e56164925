/*
 * processes: the processes that --pid names.
 */
#ifndef MEMDIAG_UI_PROCESSES_H
#define MEMDIAG_UI_PROCESSES_H

#include "base/err.h"
#include "ui/ui.h"

/*
 * Set o->pid to the requested process, 0 without one, and free o->asked.  A name stands for the
 * only process of that name: ERR_GONE if none, ERR_USAGE if there are several, which are
 * listed on standard error. 0, or -1 with E.
 */
int ui_find_process(struct ui_options *o, struct err *e);

/*
 * The same for several processes: those in o->asked have their PIDs afterwards, each is there once,
 * and o->pid is the first.  The caller frees o->asked.v, whatever is returned.
 */
int ui_find_processes(struct ui_options *o, struct err *e);

#endif
