/* log-place: finds the log of a process, which may be in the course of being written. */
#ifndef MEMDIAG_CAPTURE_LOG_PLACE_H
#define MEMDIAG_CAPTURE_LOG_PLACE_H

#include "capture/capture.h"

struct target;

/*
 * Find the last log of T, and check that its directory, ret->said.dir, can be read; its files have
 * the times realtime_ns and opened_ns of ret->said.  Nothing in T stops.  0, or -1 with E: T has no
 * record, or one without a log (ERR_UNSUPPORTED); the directory was removed, is in another mount
 * namespace, or belongs to another user (ERR_PERMISSION).
 */
int log_place_find(struct log_state *ret, const struct target *t, struct err *e);

#endif
