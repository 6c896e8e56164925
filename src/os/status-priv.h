/*
 * status-priv: what other files of os/ use of status.c.
 */
#ifndef MEMDIAG_OS_STATUS_PRIV_H
#define MEMDIAG_OS_STATUS_PRIV_H

#include <sys/types.h>

#include "os/os.h"

/*
 * ERROR, or ESRCH for ENOENT: an ended process shows as the one of a name, or the other of the
 * read.
 */
int proc_gone_or(int error);

/*
 * Open the file NAME of T, or of its thread TID unless that is 0.  -1 with errno (EINVAL: it leads
 * to a file of the target's choice, and FLAGS are without O_PATH).
 */
int proc_open_at(const struct target *t, pid_t tid, const char *name, int flags);

#endif
