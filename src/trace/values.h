/*
 * values: a trace as a profile, which reports and files are made of.
 */
#ifndef MEMDIAG_TRACE_VALUES_H
#define MEMDIAG_TRACE_VALUES_H

#include "trace/trace.h"

/*
 * Make a profile of the stacks of all programs of TRACE: calls that mapped memory, the bytes that
 * they mapped, and of these what is mapped still and what is resident; of FAULTS the number, the
 * bytes touched, and what is resident.  *RET is the caller's to free.  0, or -1 with E.
 */
int trace_profile(struct profile **ret, const struct trace *trace, bool faults, struct err *e);

#endif
