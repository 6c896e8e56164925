/* parts: read a recording into a history; several parts by several threads at once. */
#ifndef MEMDIAG_RECORDING_PARTS_H
#define MEMDIAG_RECORDING_PARTS_H

#include "recording/history.h"
#include "recording/reading.h"
#include "recording/recording.h"

/*
 * Read R from its beginning to its end into H, which must be zeroed except for interval_ns,
 * keeps_lives and nr_threads.  MOMENTS may be NULL, and must be NULL without intervals or the first
 * time that R is read.  Its intervals have the length that H had at the end the first time.  An
 * interval after the end of the recording is not taken.  The caller releases H in any case.
 */
int history_read(struct history *h, struct recording *r, const struct history_moments *moments,
	struct err *e);

#endif
