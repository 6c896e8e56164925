/*
 * target-priv: what other files of inject/ use of target.c.
 */
#ifndef MEMDIAG_INJECT_TARGET_PRIV_H
#define MEMDIAG_INJECT_TARGET_PRIV_H

#include "base/err.h"
#include "inject/target.h"

/*
 * Check that the files of CALLEE's libc can be read now: a call may need pages of it that the
 * target does not have yet, and would wait for a server (NFS, FUSE) that does not answer.  0, or
 * -1 with E (ERR_UNSUPPORTED).
 */
int inject_check_files(const struct inject_target *callee, struct err *e);

#endif
