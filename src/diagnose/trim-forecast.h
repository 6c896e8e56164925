/*
 * trim-forecast: what malloc_trim() would give back, and whether it may be called.
 */
#ifndef MEMDIAG_DIAGNOSE_TRIM_FORECAST_H
#define MEMDIAG_DIAGNOSE_TRIM_FORECAST_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "diagnose/trim.h"

/* trim-forecast.c: these return 0, or -1 with E */

/* Make T's forecast; all remarks on it go to the warnings. */
int trim_foresee(struct trim *t, const struct trim_options *opt, struct err *e);

/* Fail with ERR_NO_SAFE_POINT if T's trim would lock an arena for longer than allowed. */
int trim_allow(struct trim *t, const struct trim_options *opt, struct err *e);

/* The caveats of a forecast. */
struct caveat {
	const char *id;
	uint64_t bytes;
	char text[400];
};

#define TRIM_CAVEATS 6

/* Fill RET with the caveats that apply, and return their number. */
size_t trim_caveats(
	const struct trim *t, const struct trim_options *opt, struct caveat ret[TRIM_CAVEATS]);

#endif
