/*
 * info-jemalloc: info for a process whose malloc is jemalloc's.
 */
#ifndef MEMDIAG_DIAGNOSE_INFO_JEMALLOC_H
#define MEMDIAG_DIAGNOSE_INFO_JEMALLOC_H

#include "base/err.h"
#include "diagnose/info.h"

/*
 * info-jemalloc.c: info_ask() for jemalloc, and the accounts and verdicts from its statistics.
 * Returns 0, or -1 with E.
 */
int info_ask_jemalloc(struct info *info, const struct info_options *opt, struct err *e);
int info_understand_jemalloc(struct info *info, const struct info_options *opt, struct err *e);

#endif
