/*
 * stops-priv: what other files of os/ use of stops.c.
 */
#ifndef MEMDIAG_OS_STOPS_PRIV_H
#define MEMDIAG_OS_STOPS_PRIV_H

#include <sys/types.h>

/* ---- stops.c, for ptrace.c alone ------------------------------------------------------------- */

/* Thread TID has stopped, or runs again or is not ours any more; all of them. */
void os_stops_begin(pid_t tid);
void os_stops_end(pid_t tid);
void os_stops_forget(void);

#endif
