/*
 * running: the processes that run at the moment, by one small file of each.
 */
#ifndef MEMDIAG_OS_RUNNING_H
#define MEMDIAG_OS_RUNNING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "os/status.h"

struct os_running {
	pid_t pid;
	uint64_t start_ticks; /* as in struct target: a PID with another one is another process */
	uint64_t rss_bytes;   /* by the kernel's counters, which may lag behind: os_rss_lag() */
	char comm[OS_COMM_BYTES]; /* raw, untrusted */
};

/*
 * List the processes that have memory, in order of their PIDs: *RET_NR of them in *RET, which is
 * the caller's to free.  Excludes kernel threads, zombies and memdiag itself; a process whose first
 * thread has ended is among the zombies.  0, or -1 with E.
 */
int os_list_running(struct os_running **ret, size_t *ret_nr, struct err *e);

#endif
