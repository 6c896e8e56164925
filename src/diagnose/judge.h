/*
 * judge: the verdicts on a process, from its facts.
 */
#ifndef MEMDIAG_DIAGNOSE_JUDGE_H
#define MEMDIAG_DIAGNOSE_JUDGE_H

#include <stddef.h>

#include "diagnose/verdict.h"

/*
 * Judge FACTS: verdicts into V: critical ones, then those of memory by their bytes, then by rank.
 * If several causes explain the same bytes, the most specific is named.  Returns how many, at most
 * VERDICT_MAX; none for a healthy program.
 */
size_t verdict_judge(const struct verdict_facts *facts, struct verdict v[VERDICT_MAX]);

#endif
