/*
 * frozen-take: keeps the threads of a process at the moment at which a fork copies it.
 */
#ifndef MEMDIAG_OS_FROZEN_TAKE_H
#define MEMDIAG_OS_FROZEN_TAKE_H

#include <sys/types.h>

#include "base/err.h"

struct os_frozen;
struct target;

/*
 * Begin to keep the threads of T, which must outlive *RET.  HELPER: the one of memdiag that makes
 * the copy.  Returns 0, or -1 with E.
 */
int os_frozen_new(struct os_frozen **ret, const struct target *t, pid_t helper, struct err *e);
void os_frozen_free(struct os_frozen *f);

/*
 * Keep what is known of stopped thread TID, which is larger than those before: its registers, its
 * system call and its name.  A thread that has ended, or is the kernel's own, is left out.  Returns
 * 0, or -1 with E.
 */
int os_frozen_add(struct os_frozen *f, pid_t tid, struct err *e);

#endif
