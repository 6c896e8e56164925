/*
 * sources: the events requested from the kernel: entries and returns of system calls, or page
 * faults.
 */
#ifndef MEMDIAG_TRACE_SOURCES_H
#define MEMDIAG_TRACE_SOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "os/perf.h"
#include "trace/calls.h"
#include "trace/scope.h"
#include "trace/trace.h"

/* The kind of a source's events. */
struct trace_source {
	enum trace_call call;
	bool is_return, is_small;
	size_t offset; /* of the first argument, or of the result, in the record */
};

/* Two entries and one return per call, or two kinds of page faults. */
#define TRACE_MAX_SOURCES (3 * TRACE_NR_CALLS)
#define TRACE_MAX_FILTER 160

/* Zeroed at first; must not be moved. */
struct trace_sources {
	struct trace_source v[TRACE_MAX_SOURCES];
	struct perf_source perf[TRACE_MAX_SOURCES];
	/* filters, "" if unfiltered; and those ... */
	char own[TRACE_MAX_SOURCES][TRACE_MAX_FILTER];
	char filter[TRACE_MAX_SOURCES][TRACE_SCOPE_FILTER]; /* ... combined with the scope */
	size_t nr;
};

/* Find the sources that O requests.  Returns 0, or -1 with E. */
int trace_sources_find(struct trace_sources *s, const struct trace_options *o, struct err *e);

/* Set the filters of tracepoints for the threads in SCOPE. */
void trace_sources_set(struct trace_sources *s, const struct trace_scope *scope);

#endif
