/* timeline: print the memory of a process over time, from a recording. */
#ifndef MEMDIAG_REPORT_TIMELINE_H
#define MEMDIAG_REPORT_TIMELINE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "recording/history.h"
#include "recording/live.h"
#include "recording/recording.h"
#include "ui/ui.h"

struct timeline_view {
	const struct history *h; /* with intervals */
	const struct recording *r;
	const char *file;
	const struct ui_options *ui;
	int rows; /* maximum number of text lines, as far as possible; 0: unlimited */
};
/* Print a header line, and one line per interval. */
void timeline_print_csv(const struct timeline_view *v, FILE *f);
/*
 * Add the members of "data": if TO is not NULL, the moments FROM (which may be NULL) and TO without
 * intervals; else timeline_print_json() prints the intervals.  "report" is set to null, and the
 * caller fills it.
 */
void timeline_to_json(const struct timeline_view *v, const struct history_moment *from,
	const struct history_moment *to, json_t *data);
/* Print DOCUMENT with the intervals of V, one by one.  Returns 0, or -1 with E. */
int timeline_print_json(
	const struct timeline_view *v, json_t *document, struct ui_output *out, struct err *e);
/*
 * Print a line for INTERVAL of V, from TIME_NS on, as CSV, in a table, or as JSON; and the header.
 */
void timeline_print_csv_head(FILE *f);
void timeline_print_csv_line(const struct timeline_view *v, const struct history_interval *interval,
	uint64_t time_ns, FILE *f);
void timeline_print_line_head(FILE *f);
void timeline_print_line(const struct timeline_view *v, const struct history_interval *interval,
	uint64_t time_ns, FILE *f);
json_t *timeline_interval_json(
	const struct timeline_view *v, const struct history_interval *interval, uint64_t time_ns);

/* Moments are shown in milliseconds. */
#define TIMELINE_MOMENT_NS 1000000
/* Write "1.2 s" to BUF, truncated to the digits of INTERVAL_NS, and return it. */
const char *timeline_time(uint64_t ns, uint64_t interval_ns, char *buf, size_t size);

/* Return the interval that contains the peak. */
size_t timeline_peak(const struct history *h);

/* ---- parts shared by the plots ---- */

/* The values drawn in column I of NR: the maximum of its intervals. */
struct timeline_column {
	int64_t live_bytes, rss_bytes, mapped_bytes;
	size_t first, end; /* intervals */
};

struct timeline_column timeline_column(const struct history *h, size_t i, size_t nr);

#endif
