/*
 * metrics: the text that Prometheus reads.
 */
#ifndef MEMDIAG_EXPORT_METRICS_H
#define MEMDIAG_EXPORT_METRICS_H

#include <stdbool.h>
#include <stdio.h>

#include "export/groups.h"
#include "export/scan.h"

enum export_format {
	EXPORT_PROMETHEUS,  /* text format 0.0.4 */
	EXPORT_OPENMETRICS, /* 1.0.0 */
};

struct export_metrics {
	const struct export_groups *groups;
	const struct export_scan *scan;
	double scan_s; /* the duration of its last update in seconds */
};

/* Return the value of the header Content-Type for a document in FORMAT. */
const char *export_metrics_type(enum export_format format);

/*
 * Return the format that a client with the header Accept gets; NULL: it has none.  OpenMetrics if
 * it is accepted in version 1.0.0 or without a version, and at least as much as text/plain.
 */
enum export_format export_metrics_choose(const char *accept);

/* Write M to F in FORMAT.  Errors of F are the caller's to detect. */
void export_metrics_write(FILE *f, const struct export_metrics *m, enum export_format format);

#endif
