/*
 * status-priv: what other files of os/ use of status.c.
 */
#ifndef MEMDIAG_OS_STATUS_PRIV_H
#define MEMDIAG_OS_STATUS_PRIV_H

#include <sys/types.h>

#include "os/os.h"

/*
 * Return ERROR, but ESRCH for ENOENT: an ended process gives ENOENT for a name, and ESRCH for a
 * read.
 */
int proc_gone_or(int error);

/*
 * Open the file NAME of T, or of its thread TID if that is not 0.  -1 with errno (EINVAL: NAME
 * leads to a file of the target's choice, and FLAGS lack O_PATH).
 */
int proc_open_at(const struct target *t, pid_t tid, const char *name, int flags);

#endif
