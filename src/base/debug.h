/*
 * debug: lines for whoever looks into memdiag itself (--debug), on stderr, from any room.
 */
#ifndef MEMDIAG_BASE_DEBUG_H
#define MEMDIAG_BASE_DEBUG_H

/* Lines are written only after debug_enable(). */
void debug_enable(void);

/* One line, with the time since start; nothing when not enabled. */
void debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
