/* claim: only one memdiag at a time stops a process or calls into it. */
#ifndef MEMDIAG_UI_CLAIM_H
#define MEMDIAG_UI_CLAIM_H

#include "ui/ui.h"

struct target;

/*
 * As target_claim(): wait for another memdiag for half of --timeout, and print a note about it.
 * Call target_unclaim() before printing, so that no other memdiag waits for a pager.  Returns 0, or
 * -1 with E (ERR_NO_SAFE_POINT).
 */
int ui_claim(const struct target *t, const struct ui_options *opt, struct err *e);

#endif
