/*
 * life: checks whether a process, known only by its number, is still the same program.
 */
#ifndef MEMDIAG_OS_LIFE_H
#define MEMDIAG_OS_LIFE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Return when process PID started, in clock ticks since boot (field 22 of /proc/PID/stat); 0: the
 * process does not exist, or has ended without being reaped.  A different start means a different
 * process.
 */
uint64_t os_life_start(pid_t pid);

/* Return the RSS of process PID; 0: it cannot be read. */
uint64_t os_life_rss(pid_t pid);

/* Return whether process PID maps the file in memory NAME; true if that cannot be read. */
bool os_life_maps(pid_t pid, const char *name);

/*
 * Return whether a process in another PID namespace maps the file in memory NAME: such a process
 * knows itself by a number of that namespace.
 */
bool os_life_is_elsewhere(const char *name);

#endif
