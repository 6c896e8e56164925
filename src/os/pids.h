/*
 * pids: the numbers that the kernel gives to new threads, in ascending order, and those of the
 * processes that there are.
 */
#ifndef MEMDIAG_OS_PIDS_H
#define MEMDIAG_OS_PIDS_H

#include <sys/types.h>

#include "base/err.h"

/* The first number after wrapping around (kernel/pid.c, RESERVED_PIDS). */
#define OS_FIRST_PID 300

/*
 * Return the number after the last one that a thread can have (kernel.pid_max), if the numbers that
 * we see are the kernel's own: we are in the first PID namespace, and so is /proc.  0 if not, or if
 * unknown.
 */
pid_t os_end_of_pids(void);

/* Return the number that was given last; -1: unknown. */
pid_t os_last_pid(void);

/*
 * Call FN with ARG for the number of each process that /proc lists, until it returns another value
 * than 0, which is returned.  0 after the last one, -1 with E if /proc cannot be listed.
 */
int os_each_pid(int (*fn)(pid_t pid, void *arg), void *arg, struct err *e);

#endif
