/*
 * timeline: the memory of a process over time, from a recording.
 */
#ifndef MEMDIAG_REPORT_TIMELINE_H
#define MEMDIAG_REPORT_TIMELINE_H

#include <jansson.h>

#include "recording/history.h"
#include "report/report.h"
#include "ui/ui.h"

struct timeline_view {
	const struct history *h; /* with intervals */
	const struct recording *r;
	const char *file;
	const struct ui_options *ui;
	int rows; /* of text, at most, as far as that can be; 0: no limit */
};

/*
 * A plot as wide as the terminal: local maxima, the peak, and below it what was mapped, if anything
 * was, and RSS where that is known.
 */
int timeline_print_text(const struct timeline_view *v, struct ui_output *out, struct err *e);
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
/* The plot as SVG. */
void timeline_print_svg(const struct timeline_view *v, struct ui_output *out);
/* A page with the plot and, below it, the report PEAK of what was live at the peak. */
int timeline_print_html(const struct timeline_view *v, const struct report_view *peak,
	struct ui_output *out, struct err *e);

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

/* ---- DHAT ---- */

/*
 * Write P, which history_profile() has made of V's history with lives, and whose frames have names,
 * for DHAT's viewer: version 2 of its JSON, without what was read and written.
 */
int timeline_print_dhat(const struct timeline_view *v, const struct profile *p,
	struct ui_output *out, struct err *e);

/* ---- massif ---- */

/*
 * Snapshots for massif's viewers: at most 100, of each the local maximum, some with stacks.
 * timeline_massif_choose() sets *RET to the intervals of these, to be freed, and *NR to their
 * number; then history_read() takes them with timeline_massif_take(), whose argument is a struct
 * timeline_massif; timeline_massif_end() writes the rest.
 */
struct timeline_massif {
	const struct timeline_view *v;
	struct recording *r;
	const struct symbols_options *symbols;
	FILE *f;
	size_t nr_written; /* snapshots */
};

int timeline_massif_choose(const struct history *h, size_t **ret, size_t *nr, struct err *e);
int timeline_massif_take(void *arg, struct history_moment *m, struct err *e);
void timeline_massif_end(struct timeline_massif *m);

#endif
