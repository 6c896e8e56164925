/* values: convert a trace into a profile, the input of reports and files. */
#ifndef MEMDIAG_TRACE_VALUES_H
#define MEMDIAG_TRACE_VALUES_H

#include "trace/trace.h"

/*
 * Make a profile of the stacks of all programs of TRACE: the number of calls that mapped memory,
 * the bytes mapped, and of these the bytes still mapped and the resident ones; with FAULTS the
 * number of faults, the bytes touched, and the resident ones.  The caller frees *RET.  Returns 0,
 * or -1 with E.
 */
int trace_profile(struct profile **ret, const struct trace *trace, bool faults, struct err *e);

#endif
