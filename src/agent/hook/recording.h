/*
 * recording: a record that the program itself starts and stops by include/memdiag.h. memdiag can
 * also do so from outside, but only one record can exist at a time.
 */
#ifndef MEMDIAG_AGENT_HOOK_RECORDING_H
#define MEMDIAG_AGENT_HOOK_RECORDING_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/*
 * Start a record in private memory.  Returns 0, also if one is already active; else an errno of
 * memdiag_record_start().
 */
int recording_start(void);
/* Stop the record and keep its data.  Returns 0, also if no record is active; else an errno. */
int recording_stop(void);
/* True if a record is active. */
bool recording_is_on(void);

#pragma GCC visibility pop

#endif
