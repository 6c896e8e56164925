/*
 * info-account: the account of a process: malloc's sums compared with the kernel's, and its
 * verdicts.
 */
#ifndef MEMDIAG_DIAGNOSE_INFO_ACCOUNT_H
#define MEMDIAG_DIAGNOSE_INFO_ACCOUNT_H

#include "base/err.h"
#include "diagnose/info.h"
#include "maps/leaves.h"

/* info-account.c: return the account for leaves of KIND. */
enum account_kind info_account_of(enum leaf_kind kind);

/* info-account.c: build accounts, arenas and verdicts from the data.  Returns 0, or -1 with E. */
int info_match_arenas(struct info *info, struct err *e);
/*
 * Compare the data with malloc's account and RSS: fills mmapped and the checks, and marks arenas as
 * rough.  Returns 0, or -1.
 */
int info_check(struct info *info, struct err *e);
/* Call these after info_check(). */
void info_account(struct info *info);
void info_judge(struct info *info);

#endif
