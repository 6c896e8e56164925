/*
 * stops: the threads that are stopped, and the number of the stop.
 */
#ifndef MEMDIAG_OS_STOPS_H
#define MEMDIAG_OS_STOPS_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Return the number of the present stop of TID: no other stop of any thread has it.  0 if TID runs,
 * or is not traced.
 */
uint64_t os_stop_nr(pid_t tid);

#endif
