/*
 * judge: the verdicts on a process, from its facts.
 */
#ifndef MEMDIAG_DIAGNOSE_JUDGE_H
#define MEMDIAG_DIAGNOSE_JUDGE_H

#include <stddef.h>

#include "diagnose/verdict.h"

/*
 * Judge FACTS and store verdicts in V: critical ones first, then those about memory by bytes, then
 * by rank.  If several causes explain the same bytes, the most specific is reported.  Returns the
 * number of verdicts, at most VERDICT_MAX; 0 for a healthy program.
 */
size_t verdict_judge(const struct verdict_facts *facts, struct verdict v[VERDICT_MAX]);

#endif
