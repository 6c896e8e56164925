/*
 * gzip: unpacks files that are compressed by gzip.
 */
#ifndef MEMDIAG_PROFILE_GZIP_H
#define MEMDIAG_PROFILE_GZIP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/text.h"

/* Return whether DATA is compressed by gzip. */
bool gzip_is(const char *data, size_t len);
/*
 * Unpack DATA, of the file NAME, into RET, which must be zeroed; the caller releases it in any
 * case.  0, or -1 with E: it is damaged or cut off, or ENOMEM with its size so far.
 */
int gzip_unpack(struct text *ret, const char *name, const char *data, size_t len, struct err *e);

#endif
