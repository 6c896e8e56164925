/* trace-calls: the calls of a trace as JSON, one line each. */
#ifndef MEMDIAG_VIEW_TRACE_CALLS_H
#define MEMDIAG_VIEW_TRACE_CALLS_H

#include <stdio.h>

#include "trace/trace.h"

struct target;

/*
 * Write the first line, the line of EVENT, and the last line to F.  They return 0, or -1 with E
 * (out of memory).
 */
int trace_calls_begin(const struct target *t, FILE *f, struct err *e);
int trace_calls_event(const struct trace_event *event, FILE *f, struct err *e);
int trace_calls_end(const struct trace *t, FILE *f, struct err *e);

#endif
