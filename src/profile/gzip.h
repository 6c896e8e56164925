/*
 * gzip: packs and unpacks data by gzip.
 */
#ifndef MEMDIAG_PROFILE_GZIP_H
#define MEMDIAG_PROFILE_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#include "base/err.h"
#include "base/text.h"

/* Return whether DATA is compressed by gzip. */
bool gzip_is(const char *data, size_t len);
/*
 * Unpack DATA, of the file NAME, into RET, which must be zeroed; the caller releases it in any
 * case.  0, or -1 with E: it is damaged or cut off, or ENOMEM with its size so far.
 */
int gzip_unpack(struct text *ret, const char *name, const char *data, size_t len, struct err *e);

/*
 * Begin to compress with Z, which must be zeroed.  The caller ends it with deflateEnd().  False: no
 * memory.
 */
bool gzip_begin(z_stream *z);

/* zlib counts the bytes of one call in 32 bits. */
#define GZIP_MAX_BYTES (UINT32_C(1) << 31)

/*
 * Compress DATA of LEN bytes, at most GZIP_MAX_BYTES.  The caller frees *RET, also on failure.  0,
 * or -1 with E.
 */
int gzip_pack(char **ret, size_t *ret_len, const char *data, size_t len, struct err *e);

#endif
