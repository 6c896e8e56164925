/*
 * perf-refuse: why the kernel refused an event of perf, or its buffer.
 */
#ifndef MEMDIAG_OS_PERF_REFUSE_H
#define MEMDIAG_OS_PERF_REFUSE_H

#include <stddef.h>

#include "base/err.h"

/*
 * Fill E with the reason why perf_event_open() failed with CODE: kernel.perf_event_paranoid of
 * MAX_PARANOID, or CAP_PERFMON, would have allowed it.  Returns -1.
 */
int perf_refuse_event(int code, int max_paranoid, struct err *e);

/* As perf_refuse_event(), for a mmap() of BYTES for the buffer of each of NR_CPUS. */
int perf_refuse_ring(int code, size_t bytes, size_t nr_cpus, struct err *e);

#endif
