/*
 * core-proc: the files of /proc/PID, from the notes of a core file.
 */
#ifndef MEMDIAG_OS_CORE_PROC_H
#define MEMDIAG_OS_CORE_PROC_H

#include <sys/types.h>

#include "base/raddr.h"

struct target;

/*
 * Get the thread pointer of TID, which leads to glibc's struct pthread: only in 64-bit core files,
 * because a live thread would have to be stopped.  Returns 0 or -1.
 */
int os_thread_pointer(const struct target *t, pid_t tid, raddr *ret);

#endif
