/*
 * checks: the checks of sums, as text and JSON.
 */
#ifndef MEMDIAG_VIEW_CHECKS_H
#define MEMDIAG_VIEW_CHECKS_H

#include <jansson.h>
#include <stdio.h>

#include "account/checks.h"

/* Print each failed check and its difference, one per line. */
void checks_print(const struct checks *c, FILE *f);
/* Return all checks: [{"name","ours","theirs","difference","holds"}, ...]. */
json_t *checks_json(const struct checks *c);

#endif
