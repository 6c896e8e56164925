/* saved-maps: an output of 'memdiag maps --json' to compare with. */
#ifndef MEMDIAG_ACCOUNT_SAVED_MAPS_H
#define MEMDIAG_ACCOUNT_SAVED_MAPS_H

#include <jansson.h>
#include <stdbool.h>

#include "account/rows.h"
#include "base/err.h"

/*
 * Read the file PATH into *RET, which the caller frees, and set *BY to its grouping.  Returns 0, or
 * -1 with E and both unchanged: ERR_USAGE if IS_BY_WANTED and its grouping is not *BY, or if its
 * "filter" is not FILTER (saved_is_same_filter()).
 */
int saved_maps_read(json_t **ret, enum rows_by *by, const char *path, bool is_by_wanted,
	json_t *filter, struct err *e);

#endif
