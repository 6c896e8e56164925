/*
 * target: a process, found by its number and held.
 */
#ifndef MEMDIAG_OS_TARGET_H
#define MEMDIAG_OS_TARGET_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "os/os.h"

/*
 * Open process PID (a thread's number means its process).  T need not be initialised. Fails with
 * ERR_GONE if it does not exist or is a zombie, ERR_UNSUPPORTED for a kernel thread.
 */
int target_open(struct target *t, pid_t pid, struct err *e);

void target_release(struct target *t);
/*
 * Open T's descriptors again in a forked child, so that a claim of its parent (see target_claim())
 * ends with the parent.  0, or -1 with E and T unchanged.
 */
int target_reopen(struct target *t, struct err *e);
#define auto_target __attribute__((cleanup(target_release)))

/*
 * Return false once the process has ended (a zombie has ended), or has released its memory as it
 * ends; true if that cannot be determined.  Always true for a core file.
 */
bool target_is_alive(const struct target *t);

/*
 * Hold T by another thread if the thread that holds it has ended and the process has not: T's files
 * in /proc are those of one thread, and empty once that has ended.  Returns target_is_alive().
 */
bool target_renew(struct target *t);

#endif
