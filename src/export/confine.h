/*
 * confine: the exporter without the rights that it does not need.
 */
#ifndef MEMDIAG_EXPORT_CONFINE_H
#define MEMDIAG_EXPORT_CONFINE_H

#include <stdbool.h>

#include "base/err.h"

/*
 * Become USER with CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH alone, which read the memory and the page
 * map of other users' processes; NULL: stay the present user, and keep of these two what there is.
 * All other capabilities are gone for good.  Files and sockets that only the present user may open
 * must be open already.  0, or -1 with E.
 */
int export_drop_rights(const char *user, struct err *e);

/*
 * Allow from now on only the system calls that reading takes (seccomp): no process can be traced,
 * written to or signalled, no file opened for writing, no program executed, and no process started.
 * Refused calls fail with EPERM.  With MAY_RENAME renameat() is possible.  0, or -1 with E.
 */
int export_confine(bool may_rename, struct err *e);

#endif
