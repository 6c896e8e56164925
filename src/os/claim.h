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
 * Claim T until target_unclaim(), target_release() or our own end: no other memdiag may change or
 * stop it meanwhile.  Claiming it again does nothing.  Excludes memdiags of other users; those of
 * other PID namespaces only since Linux 6.9.  0, or -1 with E: ERR_NO_SAFE_POINT, naming the other
 * process, if it still held T after WAIT_NS.
 */
int target_claim(const struct target *t, uint64_t wait_ns, struct err *e);
void target_unclaim(const struct target *t);

/*
 * Become the one memdiag that writes the log of T, as long as *RET_FD is open, here or in a child.
 * 0, or -1 with E: another one writes it.  Excludes the same processes as target_claim().
 */
int target_claim_log(const struct target *t, int *ret_fd, struct err *e);
/* Return whether any memdiag writes the log of T. */
bool target_log_is_claimed(const struct target *t);

#endif
