/*
 * machine: properties of the kernel and the processors.
 */
#ifndef MEMDIAG_OS_MACHINE_H
#define MEMDIAG_OS_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Return the release of the kernel, comparable with OS_LINUX(); 0 if unknown. */
unsigned int os_linux_version(void);
#define OS_LINUX(major, minor) ((unsigned int)(major) << 16 | (unsigned int)(minor))

/* Return vm.max_map_count, the maximum number of mappings of a process; 0 if unknown. */
uint64_t os_max_mappings(void);

/* Return the bytes of memory of the machine (MemTotal). */
uint64_t os_memory_bytes(void);

/* Return the bytes that programs may still get without swapping (MemAvailable). */
uint64_t os_memory_available(void);

/* Return whether vm.overcommit_memory is 2: memory is counted when it is allocated. */
bool os_overcommits_never(void);

/* Return the number of online CPUs. */
int os_nr_cpus(void);

/*
 * Return by how many bytes VmRSS of a process with NR_THREADS may be too low or too high on that
 * Linux: 0 since 6.16.
 */
uint64_t os_rss_lag(unsigned int linux_version, uint64_t nr_threads);

/*
 * Return the ratio of elapsed time to processor time of a thread of ordinary priority at the
 * moment, since other threads wait for the processors, too: 1 or more, from /proc/loadavg.
 */
double os_slowdown(void);

/* Return whether we may raise the priority of other threads, as os_hurry() does. */
bool os_may_hurry(void);

/*
 * Lower the nice value of the calling thread by STEPS; without the right to, nothing changes.
 * Returns the earlier value, for os_set_nice().
 */
int os_raise_priority(int steps);
void os_set_nice(int nice);

/*
 * Store the first line of the file PATH in /proc/sys or /sys in BUF, printable; "" if it cannot be
 * read.
 */
void os_setting(const char *path, char *buf, size_t size);

/*
 * Store the word in brackets of transparent_hugepage/enabled: "always", "madvise", "never".  0 or
 * -1.
 */
int os_thp_setting(char *buf, size_t size);

#endif
