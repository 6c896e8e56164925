/*
 * info-account: the account of a process: malloc's sums compared with the kernel's, and its
 * verdicts.
 */
#ifndef MEMDIAG_DIAGNOSE_INFO_ACCOUNT_H
#define MEMDIAG_DIAGNOSE_INFO_ACCOUNT_H

#include "base/err.h"
#include "diagnose/info.h"
#include "maps/leaves.h"

/* info-account.c: which account leaves of KIND belong to. */
enum account_kind info_account_of(enum leaf_kind kind);

/* info-account.c: from what was read to accounts, arenas and verdicts. 0, or -1 with E. */
int info_match_arenas(struct info *info, struct err *e);
/*
 * Compare what was read with malloc's account and RSS: fills mmapped and the checks, and marks
 * arenas as rough. 0, or -1.
 */
int info_check(struct info *info, struct err *e);
/* Needs what info_check() fills. */
void info_account(struct info *info);
void info_judge(struct info *info);

#endif
