/*
 * settle: which of the traced memory is left, by reading the process once at the end.
 */
#ifndef MEMDIAG_TRACE_SETTLE_H
#define MEMDIAG_TRACE_SETTLE_H

#include "base/err.h"
#include "trace/program.h"

/*
 * Find what is left of the memory that stacks of P have mapped, or of the pages that they
 * have touched, how much of it is resident, and in
 * which classes.  Nothing is stopped.  0, or -1 with E: the process cannot be read any more.
 */
int trace_settle(struct trace_program *p, struct err *e);

#endif
