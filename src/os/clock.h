/*
 * clock: time, for durations and deadlines.
 */
#ifndef MEMDIAG_OS_CLOCK_H
#define MEMDIAG_OS_CLOCK_H

#include <stdint.h>

/* Monotonic time in nanoseconds. */
uint64_t os_now_ns(void);
/*
 * Monotonic time at the last tick of the kernel: CLOCK_MONOTONIC_COARSE, never later than
 * os_now_ns().
 */
uint64_t os_coarse_ns(void);
/* Time since 1970 in nanoseconds; it jumps when the clock is set. */
uint64_t os_real_ns(void);
/* Return the processor time of the calling thread. */
uint64_t os_cpu_ns(void);
void os_sleep_ns(uint64_t ns);

#endif
