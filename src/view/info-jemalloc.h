/*
 * info-jemalloc: info of jemalloc, as text and JSON.
 */
#ifndef MEMDIAG_VIEW_INFO_JEMALLOC_H
#define MEMDIAG_VIEW_INFO_JEMALLOC_H

#include <jansson.h>

#include "base/err.h"
#include "diagnose/info.h"
#include "jemalloc/ask.h"
#include "jemalloc/jemalloc.h"
#include "ui/ui.h"

int info_print_jemalloc(const struct info *info, const struct info_options *opt,
	struct ui_output *out, struct err *e);
json_t *jemalloc_accounting_json(const struct info *info);
/* Return jemalloc's statistics WHAT; of its arenas only ONLY, -1: all. */
json_t *jemalloc_json(const struct jemalloc *where, const struct jemalloc_stats *what, long only);

#endif
