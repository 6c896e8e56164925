/*
 * named: processes by their name.
 */
#ifndef MEMDIAG_OS_NAMED_H
#define MEMDIAG_OS_NAMED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* A process that was found by its name. */
struct os_named {
	pid_t pid;
	uint64_t age_s; /* seconds since it was started */
	uint64_t rss_bytes;
	char command[256]; /* the beginning of the command line; not printable yet */
};

/*
 * List the processes whose comm, or whose program's base name, is NAME, in order of their PIDs:
 * *RET_NR of them in *RET, which is the caller's to free (NULL if not found).  Excludes kernel
 * threads, zombies and memdiag itself.  0, or -1 with E.
 */
int os_processes_named(const char *name, struct os_named **ret, size_t *ret_nr, struct err *e);

#endif
