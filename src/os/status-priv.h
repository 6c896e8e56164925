/*
 * status-priv: what other files of os/ use of status.c.
 */
#ifndef MEMDIAG_OS_STATUS_PRIV_H
#define MEMDIAG_OS_STATUS_PRIV_H

#include <stdint.h>
#include <sys/types.h>

#include "os/os.h"

/* Fields of a stat file, numbered from 1 as in proc(5). */
#define NR_STAT_FIELDS 53

/*
 * A flag of a thread (include/linux/sched.h).  It has this value since 2.6.27; status shows it only
 * since 6.4.
 */
#define PF_KTHREAD UINT64_C(0x200000)

/* The field of a stat file with these flags. */
#define STAT_FLAGS 9

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

/*
 * Parse the fields of the line TEXT of a stat file from the fourth on; missing ones are 0.  Returns
 * 0, or -1 if it is not such a line.
 */
int proc_parse_stat(const char *text, uint64_t field[NR_STAT_FIELDS]);

#endif
