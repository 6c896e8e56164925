/*
 * deadline: --timeout for commands that leave nothing behind in the target, wherever they are.
 */
#ifndef MEMDIAG_UI_DEADLINE_H
#define MEMDIAG_UI_DEADLINE_H

#include <stdint.h>

/*
 * End memdiag with UI_FAILED when NS have passed, from now; a later call replaces an earlier one.
 * Held back in os_trace(): all threads are let go first, unless the tracing thread is stuck
 * (os/ptrace.h).  Where memdiag waits for a file system, whose server does not answer, it is ended
 * a second later.
 */
void deadline_set(uint64_t ns);

#endif
