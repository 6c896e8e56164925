/*
 * ahead: times that lie ahead, on the clocks of timers.
 */
#ifndef MEMDIAG_OS_AHEAD_H
#define MEMDIAG_OS_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

struct target;

/*
 * How much the monotonic clocks of T are ahead of ours, modulo 2^64: it may be in another time
 * namespace (time_namespaces(7)).  False: that is not known.
 */
bool os_clock_ahead(const struct target *t, uint64_t *ret_ns);

/*
 * How much our monotonic clock is ahead of the kernel's own, modulo 2^64; 0 if that is not known.
 */
uint64_t os_own_clock_ahead(void);

#endif
