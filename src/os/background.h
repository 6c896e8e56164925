/*
 * background: memdiag, continued as a background process.
 */
#ifndef MEMDIAG_OS_BACKGROUND_H
#define MEMDIAG_OS_BACKGROUND_H

#include <sys/types.h>

#include "base/err.h"

/*
 * Run FN(ARG, READY) in a separate process, *RET, that no process waits for: in its own session,
 * without a terminal, its input and output /dev/null, in the root directory, with only those
 * descriptors that are closed on exec, as ours are.  FN calls os_background_ready(READY), with NULL
 * or the error; os_background() waits for that, and returns it.
 */
int os_background(void (*fn)(void *arg, int ready), void *arg, pid_t *ret, struct err *e);
void os_background_ready(int ready, const struct err *e);

#endif
