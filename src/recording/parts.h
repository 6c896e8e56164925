/*
 * parts: a recording read into a history; one of several parts by several threads at once.
 */
#ifndef MEMDIAG_RECORDING_PARTS_H
#define MEMDIAG_RECORDING_PARTS_H

#include "recording/history.h"
#include "recording/reading.h"
#include "recording/recording.h"

/*
 * Read R from its beginning to its end into H, which must be zeroed but for interval_ns,
 * keeps_lives and nr_threads; MOMENTS may be NULL, as it must be without intervals, or the first
 * time that R is read; they are in intervals of the length that H had at the end the first time.
 * An interval that the recording does not reach is not taken.  The caller releases H, whatever is
 * returned.
 */
int history_read(struct history *h, struct recording *r, const struct history_moments *moments,
	struct err *e);

#endif
