/*
 * heaptrack: the reader of heaptrack's recordings.
 */
#ifndef MEMDIAG_RECORDING_HEAPTRACK_H
#define MEMDIAG_RECORDING_HEAPTRACK_H

#include "recording/recording.h"
#include "recording/stream.h"

/* Open a reader of S, which is taken over; NAME must outlive it. */
int heaptrack_open(struct recording **ret, struct stream *s, const char *name, struct err *e);

#endif
