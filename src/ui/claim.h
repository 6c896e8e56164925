/*
 * claim: one memdiag at a time stops a process or calls into it.
 */
#ifndef MEMDIAG_UI_CLAIM_H
#define MEMDIAG_UI_CLAIM_H

#include "ui/ui.h"

struct target;

/*
 * As target_claim(): wait for another memdiag for half of --timeout, with a note that says so.
 * Call target_unclaim() before anything is printed: no other memdiag may have to wait for a pager.
 * 0, or -1 with E (ERR_NO_SAFE_POINT).
 */
int ui_claim(const struct target *t, const struct ui_options *opt, struct err *e);

#endif
