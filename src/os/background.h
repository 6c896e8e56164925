/*
 * background: memdiag, continued as a background process.
 */
#ifndef MEMDIAG_OS_BACKGROUND_H
#define MEMDIAG_OS_BACKGROUND_H

#include <sys/types.h>

#include "base/err.h"

/*
 * Have FN(ARG, READY) go on in a process of its own, *RET, that nobody waits for: in a session of
 * its own, without a terminal, its input and output /dev/null, in the root directory, with no
 * descriptors but those that are closed on exec, as ours are.  FN calls os_background_ready(READY),
 * with NULL or what went wrong; that is waited for, and returned.
 */
int os_background(void (*fn)(void *arg, int ready), void *arg, pid_t *ret, struct err *e);
void os_background_ready(int ready, const struct err *e);

#endif
