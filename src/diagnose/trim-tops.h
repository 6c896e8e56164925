/*
 * trim-tops: the free ends of arenas' heaps, given back without malloc_trim().
 */
#ifndef MEMDIAG_DIAGNOSE_TRIM_TOPS_H
#define MEMDIAG_DIAGNOSE_TRIM_TOPS_H

#include "base/err.h"
#include "diagnose/trim.h"

/* trim-tops.c: release the tops that are free and whose lock can be taken.  Returns 0, or -1. */
int trim_tops(struct trim *t, const struct trim_options *opt, struct err *e);

#endif
