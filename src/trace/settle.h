/*
 * settle: which of the traced memory is left, by reading the process once at the end.
 */
#ifndef MEMDIAG_TRACE_SETTLE_H
#define MEMDIAG_TRACE_SETTLE_H

#include "base/err.h"
#include "trace/program.h"

/*
 * Find the remaining part of the memory that stacks of P mapped, or of the pages they touched, its
 * resident part, and its classes.  No thread is stopped.  Returns 0, or -1 with E if the process
 * cannot be read any more.
 */
int trace_settle(struct trace_program *p, struct err *e);

#endif
