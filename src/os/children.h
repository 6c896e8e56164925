/*
 * children: the children and descendants of a process.
 */
#ifndef MEMDIAG_OS_CHILDREN_H
#define MEMDIAG_OS_CHILDREN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct target;

/*
 * Return how many children of T have our file FILE_FD as their descriptor FD; one of them in
 * *RET_ONE.  0 also if the kernel does not list children.
 */
size_t os_children_with(const struct target *t, int fd, int file_fd, pid_t *ret_one);

/* Return the clock ticks since boot, the unit of start times of processes. */
uint64_t os_boot_ticks(void);

/*
 * Return how many living children of T were started at SINCE_TICKS or later; one of them in
 * *RET_ONE.
 */
size_t os_children_since(const struct target *t, uint64_t since_ticks, pid_t *ret_one);

/*
 * Return the number of processes that descend from T, the sum of their RSS, and the one with the
 * most; 0 also if the kernel does not list children (CONFIG_PROC_CHILDREN).  Counts at most a
 * thousand.
 */
size_t os_descendants(const struct target *t, uint64_t *ret_rss_bytes, pid_t *ret_largest);

#endif
