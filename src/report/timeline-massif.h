/*
 * timeline-massif: a timeline in the format of massif's ms_print.
 */
#ifndef MEMDIAG_REPORT_TIMELINE_MASSIF_H
#define MEMDIAG_REPORT_TIMELINE_MASSIF_H

#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "recording/history.h"
#include "recording/live.h"
#include "recording/recording.h"
#include "report/timeline.h"

/*
 * Write snapshots for massif's viewers: at most 100, each with the local maximum, some with stacks.
 * timeline_massif_choose() sets *RET to their intervals, which the caller frees, and *NR to their
 * number; then history_read() passes them to timeline_massif_take(), whose argument is a struct
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
