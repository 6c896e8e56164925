/*
 * causes-others-priv: what other files of diagnose/ use of causes-others.c.
 */
#ifndef MEMDIAG_DIAGNOSE_CAUSES_OTHERS_PRIV_H
#define MEMDIAG_DIAGNOSE_CAUSES_OTHERS_PRIV_H

#include <stdbool.h>

#include "diagnose/verdict.h"

/* True if the cgroup uses 90 % of its limit. */
bool verdict_is_cgroup_full(const struct verdict_facts *f);

#endif
