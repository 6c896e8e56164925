/*
 * timeline: the memory of a process over time, from a recording.
 */
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
	int rows; /* of text, at most, as far as that can be; 0: no limit */
};
/* A line for each interval, below one with the names of the columns. */
void timeline_print_csv(const struct timeline_view *v, FILE *f);
/*
 * The members of "data": with TO, which may be NULL as FROM may, these moments and no intervals;
 * else timeline_print_json() has the intervals.  "report", which is null, is the caller's.
 */
void timeline_to_json(const struct timeline_view *v, const struct history_moment *from,
	const struct history_moment *to, json_t *data);
/* Print DOCUMENT with the intervals of V, one by one.  0, or -1 with E. */
int timeline_print_json(
	const struct timeline_view *v, json_t *document, struct ui_output *out, struct err *e);
/* A line for INTERVAL of V, from TIME_NS on: of CSV, of a table, or JSON; and what is above. */
void timeline_print_csv_head(FILE *f);
void timeline_print_csv_line(const struct timeline_view *v, const struct history_interval *interval,
	uint64_t time_ns, FILE *f);
void timeline_print_line_head(FILE *f);
void timeline_print_line(const struct timeline_view *v, const struct history_interval *interval,
	uint64_t time_ns, FILE *f);
json_t *timeline_interval_json(
	const struct timeline_view *v, const struct history_interval *interval, uint64_t time_ns);

/* Moments are shown to the millisecond. */
#define TIMELINE_MOMENT_NS 1000000
/* "1.2 s", cut to as many digits as intervals of INTERVAL_NS have, into BUF; returns BUF. */
const char *timeline_time(uint64_t ns, uint64_t interval_ns, char *buf, size_t size);

/* The interval that the peak is in. */
size_t timeline_peak(const struct history *h);

/* ---- parts that the plots share ---- */

/* The values drawn in column I of NR: the greatest of its intervals. */
struct timeline_column {
	int64_t live_bytes, rss_bytes, mapped_bytes;
	size_t first, end; /* intervals */
};

struct timeline_column timeline_column(const struct history *h, size_t i, size_t nr);

#endif
