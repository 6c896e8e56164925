/*
 * write-heap: a profile, written as a .heap file.
 */
#ifndef MEMDIAG_PROFILE_WRITE_HEAP_H
#define MEMDIAG_PROFILE_WRITE_HEAP_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "profile/profile.h"

/*
 * Write P as a .heap file: the text of gperftools, which go tool pprof, jeprof and google-pprof
 * read, with memdiag's own lines that are comments to them: all types of values, threads, sizes,
 * build-ids, and with WITH_NAMES the names of frames.  Mappings and names must have been found.
 * Fails for profiles without blocks or bytes in use, and with negative values.  Returns 0, or -1
 * with E; the caller checks whether the stream could be written.
 */
int heap_write(const struct profile *p, FILE *f, bool with_names, struct err *e);

#endif
