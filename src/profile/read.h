/* read: profiles from files of gperftools, jemalloc, pprof and memdiag.  Files are not trusted. */
#ifndef MEMDIAG_PROFILE_READ_H
#define MEMDIAG_PROFILE_READ_H

#include <stddef.h>

#include "base/err.h"
#include "profile/profile.h"

/*
 * Read PATH ("-": standard input), whose format is determined from its first bytes; profile.proto
 * may be compressed by gzip.  The whole part of one of memdiag's .heap files that was cut off is
 * kept, with a warning, and is_partial is set.  The caller frees *RET.  0, or -1 with E: the file,
 * the line, and the error.
 */
int profile_read(struct profile **ret, const char *path, struct err *e);

/* As profile_read(), for LEN bytes at DATA, followed by a NUL, from the file NAME. */
int profile_parse(
	struct profile **ret, const char *name, const char *data, size_t len, struct err *e);

#endif
