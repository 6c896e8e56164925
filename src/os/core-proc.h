/*
 * core-proc: the files of /proc/PID, from the notes of a core file.
 */
#ifndef MEMDIAG_OS_CORE_PROC_H
#define MEMDIAG_OS_CORE_PROC_H

#include <sys/types.h>

#include "base/raddr.h"

struct target;

/*
 * The thread pointer of TID, which glibc's struct pthread is found by: in core files of 64 bit
 * only, for one would have to stop the thread of a process.  Returns 0 or -1.
 */
int os_thread_pointer(const struct target *t, pid_t tid, raddr *ret);

#endif
