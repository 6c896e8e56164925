/*
 * growth-mappings: which mapping of an earlier list is which of a later one.
 */
#ifndef MEMDIAG_ACCOUNT_GROWTH_MAPPINGS_H
#define MEMDIAG_ACCOUNT_GROWTH_MAPPINGS_H

#include <jansson.h>
#include <stddef.h>

#include "base/err.h"

/*
 * Find the mappings of WAS in IS, which are "mappings" of two documents: one of the same class and
 * file that begins, or ends, at the same address, or else lies over a part of it.  Adds a member to
 * each row, for growth_mapping_name().  0, or -1 with E.
 */
int growth_match_mappings(json_t *was, json_t *is, struct err *e);

/*
 * For struct growth_list: the addresses of a row after growth_match_mappings(), as they are later,
 * its class and file, and whether it is new or gone.
 */
const char *growth_mapping_name(json_t *row, char *buf, size_t size);

#endif
