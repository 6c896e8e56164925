/*
 * machine: the kernel and the processors.
 */
#ifndef MEMDIAG_OS_MACHINE_H
#define MEMDIAG_OS_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The release of the kernel, comparable with OS_LINUX(); 0 if it is not known. */
unsigned int os_linux_version(void);
#define OS_LINUX(major, minor) ((unsigned int)(major) << 16 | (unsigned int)(minor))

/* vm.max_map_count: how many mappings a process may have; 0 if it is not known. */
uint64_t os_max_mappings(void);

/* How many bytes the kernel has in all (MemTotal). */
uint64_t os_memory_bytes(void);

/* How many bytes a program may still get without swapping (MemAvailable). */
uint64_t os_memory_available(void);

/* CPUs this machine has online. */
int os_nr_cpus(void);

/*
 * By how many bytes VmRSS of a process with NR_THREADS may be too low or too high on that Linux: 0
 * since 6.16.
 */
uint64_t os_rss_lag(unsigned int linux_version, uint64_t nr_threads);

/*
 * How many times longer than its processor time a thread of ordinary priority takes at the moment,
 * as others wait for the processors, too: 1 or more, by /proc/loadavg.
 */
double os_slowdown(void);

/* Whether we may have threads of others come first, as os_hurry() does. */
bool os_may_hurry(void);

/*
 * The first line of the file PATH in /proc/sys or /sys, fit for a terminal, into BUF; "" if it
 * cannot be read.
 */
void os_setting(const char *path, char *buf, size_t size);

/* The word in brackets of transparent_hugepage/enabled: "always", "madvise", "never".  0 or -1. */
int os_thp_setting(char *buf, size_t size);

#endif
