/* deadline: --timeout for commands that leave no trace in the target, at any point. */
#ifndef MEMDIAG_UI_DEADLINE_H
#define MEMDIAG_UI_DEADLINE_H

#include <stdint.h>

/*
 * End memdiag with UI_FAILED after NS; a later call replaces the deadline.  Delayed in os_trace():
 * all threads are let go first, unless the tracing thread is stuck (os/ptrace.h).  If memdiag waits
 * for a file system whose server does not answer, it is ended one second later.
 */
void deadline_set(uint64_t ns);

#endif
