/*
 * processes: other processes than the target: its children, those that share its memory, those of a
 * name.
 */
#ifndef MEMDIAG_OS_PROCESSES_H
#define MEMDIAG_OS_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct target;

/* A process that was found by its name. */
struct os_named {
	pid_t pid;
	uint64_t age_s; /* seconds since it was started */
	uint64_t rss_bytes;
	char command[256]; /* the beginning of its command line; not printable yet */
};

/*
 * The processes whose comm, or the base name of whose program, is NAME, in order of their PIDs:
 * *RET_NR of them in *RET, the caller's to free (NULL: none).  Without kernel threads, zombies and
 * memdiag itself. 0, or -1 with E.
 */
int os_processes_named(const char *name, struct os_named **ret, size_t *ret_nr, struct err *e);

/* Whether A and B are threads of processes that share one address space (kcmp). */
bool os_shares_memory(pid_t a, pid_t b);

/*
 * How many children of T have our file FILE_FD as their descriptor FD; one of them in *RET_ONE. 0
 * also where the kernel does not list children.
 */
size_t os_children_with(const struct target *t, int fd, int file_fd, pid_t *ret_one);

/* Clock ticks since boot, by which the kernel says when a process was started. */
uint64_t os_boot_ticks(void);

/*
 * How many children of T that still live were started at SINCE_TICKS or later; one of them in
 * *RET_ONE.
 */
size_t os_children_since(const struct target *t, uint64_t since_ticks, pid_t *ret_one);

/*
 * The processes that descend from T: how many, the sum of their RSS, and the one with the most; 0
 * also where the kernel does not list children (CONFIG_PROC_CHILDREN).  At most a thousand are
 * looked at.
 */
size_t os_descendants(const struct target *t, uint64_t *ret_rss_bytes, pid_t *ret_largest);

#endif
