/*
 * trim-jemalloc: trim for a process whose malloc is jemalloc's.
 */
#ifndef MEMDIAG_DIAGNOSE_TRIM_JEMALLOC_H
#define MEMDIAG_DIAGNOSE_TRIM_JEMALLOC_H

#include "base/err.h"
#include "diagnose/trim.h"

/*
 * trim-jemalloc.c: trim a process that uses jemalloc, without the measurements; or with --dry-run
 * find the upper bound of releasable bytes.  Returns 0, or -1 with E.
 */
int trim_jemalloc(struct trim *t, const struct trim_options *opt, struct err *e);

#endif
