/*
 * clock: the time that deadlines are measured in.
 */
#ifndef MEMDIAG_OS_CLOCK_H
#define MEMDIAG_OS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Monotonic time in nanoseconds. */
uint64_t os_now_ns(void);
/* The same at the last tick of the kernel: CLOCK_MONOTONIC_COARSE, never more than the former. */
uint64_t os_coarse_ns(void);
void os_sleep_ns(uint64_t ns);

/*
 * Whether the counter of wire_stamp() is one for all processors: the kernel itself takes the time
 * from it.  False also if that is not known.
 */
bool os_counter_is_steady(void);

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
