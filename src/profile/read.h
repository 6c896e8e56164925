/*
 * read: profiles from files of gperftools, jemalloc, pprof, and our own.  Files are strangers'.
 */
#ifndef MEMDIAG_PROFILE_READ_H
#define MEMDIAG_PROFILE_READ_H

#include <stddef.h>

#include "base/err.h"
#include "profile/profile.h"

/*
 * Read PATH ("-": standard input), whose format is found by what it begins with; profile.proto may
 * be compressed by gzip.  The whole part of a .heap file of ours that was cut off is kept, with a
 * warning, and is_partial is set.  The caller frees *RET.  0, or -1 with E: the file, the line, and
 * what is wrong there.
 */
int profile_read(struct profile **ret, const char *path, struct err *e);

/* The same of LEN bytes at DATA, followed by a NUL, that NAME is the file of. */
int profile_parse(
	struct profile **ret, const char *name, const char *data, size_t len, struct err *e);

#endif
