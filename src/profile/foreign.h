/*
 * foreign: which other tool wrote a file.
 */
#ifndef MEMDIAG_PROFILE_FOREIGN_H
#define MEMDIAG_PROFILE_FOREIGN_H

#include <stddef.h>

/*
 * A sentence on DATA if it is in a format of another kind, which is given by mistake, or packed in
 * a way that is not read: "of /proc/PID/smaps".  NULL: it may be a profile.
 */
const char *foreign_kind(const char *data, size_t len);
/* The same of a file that may have other lines, as of a log, before it. */
const char *foreign_find(const char *data, size_t len);

#endif
