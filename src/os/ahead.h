/*
 * ahead: times that lie ahead, on the clocks of timers.
 */
#ifndef MEMDIAG_OS_AHEAD_H
#define MEMDIAG_OS_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

struct target;

/*
 * Store how far T's monotonic clock is ahead of ours, modulo 2^64: T may be in another time
 * namespace (time_namespaces(7)).  False: unknown.
 */
bool os_clock_ahead(const struct target *t, uint64_t *ret_ns);

/* Return how far our monotonic clock is ahead of the kernel's own, modulo 2^64; 0 if unknown. */
uint64_t os_own_clock_ahead(void);

#endif
