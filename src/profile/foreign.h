/*
 * foreign: recognises files of other tools.
 */
#ifndef MEMDIAG_PROFILE_FOREIGN_H
#define MEMDIAG_PROFILE_FOREIGN_H

#include <stddef.h>

/*
 * Describe DATA if it has another kind of format, given by mistake, or an unsupported compression:
 * "of /proc/PID/smaps".  NULL if it may be a profile.
 */
const char *foreign_kind(const char *data, size_t len);
/* As foreign_kind(), for a file that may begin with other lines, such as a log. */
const char *foreign_find(const char *data, size_t len);

#endif
