/*
 * pids: the numbers that the kernel gives to new threads, one after the other.
 */
#ifndef MEMDIAG_OS_PIDS_H
#define MEMDIAG_OS_PIDS_H

#include <sys/types.h>

/* The first number that is given again after the last one (kernel/pid.c, RESERVED_PIDS). */
#define OS_FIRST_PID 300

/*
 * The number after the last one that a thread can have (kernel.pid_max), where the numbers that we
 * see are those of the kernel itself: we are in the first PID namespace, and /proc is.  0 where
 * they are not, or this is not known.
 */
pid_t os_end_of_pids(void);

/* The number that was given last; -1: not known. */
pid_t os_last_pid(void);

#endif
