/*
 * saved-maps: an output of 'memdiag maps --json' that another one is compared with.
 */
#ifndef MEMDIAG_ACCOUNT_SAVED_MAPS_H
#define MEMDIAG_ACCOUNT_SAVED_MAPS_H

#include <jansson.h>
#include <stdbool.h>

#include "account/rows.h"
#include "base/err.h"

/*
 * Read the file PATH into *RET, which is the caller's, and set *BY to what it is added up by.
 * Returns 0, or -1 with E and neither changed: ERR_USAGE if IS_BY_WANTED and it is by something
 * other than *BY, or if its "filter" is not FILTER (saved_is_same_filter()).
 */
int saved_maps_read(json_t **ret, enum rows_by *by, const char *path, bool is_by_wanted,
	json_t *filter, struct err *e);

#endif
