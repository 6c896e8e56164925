/*
 * judge-priv: what other files of diagnose/ use of judge.c.
 */
#ifndef MEMDIAG_DIAGNOSE_JUDGE_PRIV_H
#define MEMDIAG_DIAGNOSE_JUDGE_PRIV_H

#include <stddef.h>

#include "diagnose/verdict.h"

/* Insert NEW at its place among the NR verdicts of V. */
void verdict_insert(struct verdict v[VERDICT_MAX], size_t nr, const struct verdict *new);

#endif
