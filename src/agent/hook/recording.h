/*
 * recording: a record that the program itself begins and ends, by include/memdiag.h.  memdiag may
 * do so as well, from outside: one of them at a time.
 */
#ifndef MEMDIAG_AGENT_HOOK_RECORDING_H
#define MEMDIAG_AGENT_HOOK_RECORDING_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/*
 * Begin a record in memory of the process's own.  0, also if there is one already; else an errno,
 * as memdiag_record_start() has it.
 */
int recording_start(void);
/* End it; what was noted stays.  0, also if none; else an errno. */
int recording_stop(void);
/* Whether one goes on. */
bool recording_is_on(void);

#pragma GCC visibility pop

#endif
