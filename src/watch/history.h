/*
 * history: what was seen of a process until now: RSS for a graph, and the last samples, from which
 * growth is computed.
 */
#ifndef MEMDIAG_WATCH_HISTORY_H
#define MEMDIAG_WATCH_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "maps/leaves.h"
#include "watch/sample.h"

/* The values that have a history: RSS, and its part in each group of leaves. */
#define WATCH_CURVES (1 + NR_GROUPS)

struct watch_point {
	uint64_t time_ns;
	uint64_t bytes[WATCH_CURVES]; /* the greatest since the point before */
};

/* More points than a terminal has columns: when they are full, each two of them become one. */
#define WATCH_MAX_POINTS 8192

/* Growth is that of the last minute, or of less if less is known. */
#define WATCH_GROWTH_NS UINT64_C(60000000000)

/* Samples that are kept for it: at most one in so much time, and the last one. */
#define WATCH_KEEP_NS (WATCH_GROWTH_NS / 30)

struct watch_history {
	struct {
		struct watch_point *v; /* by time */
		size_t nr, room;
	} points;
	struct {
		struct watch_sample *v; /* by time; owned */
		size_t nr, room;
	} kept;
	uint64_t nr_samples;
};

/* Move S, which is later than all that were added, to H.  0, or -1 with E and S released. */
int watch_history_add(struct watch_history *h, struct watch_sample *s, struct err *e);

/* Return the name of CURVE: "RSS", "heap" ... */
const char *watch_curve_name(int curve);

/* Return the last sample, NULL before the first one. */
const struct watch_sample *watch_history_last(const struct watch_history *h);

/*
 * Store the growth of RSS in bytes per minute in RET.  False if the samples are from less than two
 * seconds.
 */
bool watch_history_growth(const struct watch_history *h, int64_t *ret);

/* Likewise for the first number of R, a row of the table VIEW of the last sample. */
bool watch_history_row_growth(const struct watch_history *h, enum watch_view view,
	const struct watch_row *r, int64_t *ret);

void watch_history_release(struct watch_history *h);
#define auto_watch_history __attribute__((cleanup(watch_history_release)))

#endif
