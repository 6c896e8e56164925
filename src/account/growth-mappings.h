/* growth-mappings: match the mappings of an earlier list with those of a later one. */
#ifndef MEMDIAG_ACCOUNT_GROWTH_MAPPINGS_H
#define MEMDIAG_ACCOUNT_GROWTH_MAPPINGS_H

#include <jansson.h>
#include <stddef.h>

#include "base/err.h"

/*
 * Match the mappings of WAS and IS, "mappings" of two documents: same class and file, and the same
 * start or end, or else overlapping.  Adds a member to each row, for growth_mapping_name().
 * Returns 0, or -1 with E.
 */
int growth_match_mappings(json_t *was, json_t *is, struct err *e);

/*
 * For struct growth_list: return the later addresses of a row after growth_match_mappings(), its
 * class and file, and whether it is new or gone.
 */
const char *growth_mapping_name(json_t *row, char *buf, size_t size);

#endif
