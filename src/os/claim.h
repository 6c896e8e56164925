/*
 * claim: one memdiag at a time for a process, and for a log.
 */
#ifndef MEMDIAG_OS_CLAIM_H
#define MEMDIAG_OS_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "os/os.h"

/*
 * Claim T, which lasts until target_unclaim(), target_release() or our own end: no other memdiag
 * may change or stop it meanwhile.  Claiming it again does nothing.  Excludes memdiags of other
 * users; of other PID namespaces since Linux 6.9 only. 0, or -1 with E: ERR_NO_SAFE_POINT, naming
 * the other process, when it still had T after WAIT_NS.
 */
int target_claim(const struct target *t, uint64_t wait_ns, struct err *e);
void target_unclaim(const struct target *t);

/*
 * Be the one memdiag that writes the log of T, for as long as *RET_FD is open, here or in a child.
 * 0, or -1 with E: another one does.  It excludes those that target_claim() does.
 */
int target_claim_log(const struct target *t, int *ret_fd, struct err *e);
/* Whether any memdiag does. */
bool target_log_is_claimed(const struct target *t);

#endif
