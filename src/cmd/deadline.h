/*
 * deadline: --timeout for commands that leave nothing behind in the target, wherever they are.
 */
#ifndef MEMDIAG_CMD_DEADLINE_H
#define MEMDIAG_CMD_DEADLINE_H

#include <stdint.h>

/*
 * End memdiag with UI_FAILED when NS have passed.  A path of the target can lie on a server that
 * does not answer, so it is a signal.  Held back in os_trace(): all threads are let go first.
 */
void deadline_set(uint64_t ns);

#endif
