/*
 * trace: the calls or page faults of a process with their stacks, as text and JSON.
 */
#ifndef MEMDIAG_VIEW_TRACE_H
#define MEMDIAG_VIEW_TRACE_H

#include <jansson.h>

#include "os/os.h"
#include "trace/trace.h"
#include "ui/ui.h"

struct trace_view {
	const struct trace *trace;
	const struct target *target;
	const struct ui_options *ui;
	bool faults;
	uint64_t min_bytes, period;
	size_t limit; /* stacks that are shown; 0: all */
};

/* The line above those of calls, and the line of one, which goes on as far as OUT is wide. */
void trace_print_head(FILE *f);
void trace_print_event(const struct trace_event *event, const struct ui_options *ui,
	const struct ui_output *out, FILE *f);
/* Why it has ended, and what events there were, as in "data". */
const char *trace_end_name(const struct trace *t);
json_t *trace_events_json(const struct trace *t);
/* The name of an error of these calls, into BUF; returns BUF or the name. */
const char *trace_error_name(int error, char *buf, size_t size);
/* Sums, then the stacks: those that have most left first.  0, or -1 with E. */
int trace_print(const struct trace_view *v, struct ui_output *out, struct err *e);
/*
 * DOCUMENT with the members of "data", and as many stacks as text has, which are made one by one.
 */
int trace_print_json(
	const struct trace_view *v, json_t *document, struct ui_output *out, struct err *e);

#endif
