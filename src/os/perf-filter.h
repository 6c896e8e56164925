/*
 * perf-filter: filters of perf events for processes that begin later.
 */
#ifndef MEMDIAG_OS_PERF_FILTER_H
#define MEMDIAG_OS_PERF_FILTER_H

#include "base/err.h"

struct perf;

/*
 * Use the filters that the sources have now.  An event that happens meanwhile may be reported twice
 * in succession, in two generations.  perf_wait() must have returned twice since the last call.  0,
 * or -1 with E and all events unchanged.
 */
int perf_filter_again(struct perf *p, struct err *e);

#endif
