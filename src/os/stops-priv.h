/*
 * stops-priv: what other files of os/ use of stops.c.
 */
#ifndef MEMDIAG_OS_STOPS_PRIV_H
#define MEMDIAG_OS_STOPS_PRIV_H

#include <sys/types.h>

/*
 * Note that thread TID has stopped; that it runs again or is not traced any more; forget all of
 * them.
 */
void os_stops_begin(pid_t tid);
void os_stops_end(pid_t tid);
void os_stops_forget(void);

#endif
