/* trace: print the calls or page faults of a process with their stacks, as text and JSON. */
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
	size_t limit; /* number of stacks shown; 0: all */
};

/* Print the header line above calls, and the line of one call, cut to the width of OUT. */
void trace_print_head(FILE *f);
void trace_print_event(const struct trace_event *event, const struct ui_options *ui,
	const struct ui_output *out, FILE *f);
/* Return the reason for the end, and the events, as in "data". */
const char *trace_end_name(const struct trace *t);
json_t *trace_events_json(const struct trace *t);
/* Return the name of an error of these calls, which may be in BUF. */
const char *trace_error_name(int error, char *buf, size_t size);
/* Print sums, then the stacks, largest amount left first.  Returns 0, or -1 with E. */
int trace_print(const struct trace_view *v, struct ui_output *out, struct err *e);
/*
 * Print DOCUMENT with the members of "data", and as many stacks as in text, which are converted one
 * by one.
 */
int trace_print_json(
	const struct trace_view *v, json_t *document, struct ui_output *out, struct err *e);

#endif
