/* debug: lines for developers of memdiag (--debug), on stderr, from any room. */
#ifndef MEMDIAG_BASE_DEBUG_H
#define MEMDIAG_BASE_DEBUG_H

#include <stdbool.h>

/* Lines are written only after debug_enable(). */
void debug_enable(void);
bool debug_is_enabled(void);

/* Print one line, with the time since start; do nothing if not enabled. */
void debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * From debug_hold() to debug_let_go() keep a line that would have to wait, and all lines after it,
 * at most 1 MiB: standard error may be a pipe without a reader, and threads of a target may be
 * stopped.  For os_trace().
 */
void debug_hold(void);
void debug_let_go(void);

#endif
