/*
 * life: whether a process that is known by its number only still is the same program.
 */
#ifndef MEMDIAG_OS_LIFE_H
#define MEMDIAG_OS_LIFE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * When process PID started, in clock ticks since the machine did (field 22 of /proc/PID/stat); 0:
 * there is none, or it has ended and is not reaped.  Another start is another process.
 */
uint64_t os_life_start(pid_t pid);

/* The RSS of process PID; 0: it cannot be read. */
uint64_t os_life_rss(pid_t pid);

/* Whether process PID maps the file in memory NAME; true if that cannot be read. */
bool os_life_maps(pid_t pid, const char *name);

/*
 * Whether a process in another PID namespace maps the file in memory NAME: the number that it knows
 * itself by is none of ours.
 */
bool os_life_is_elsewhere(const char *name);

#endif
