/*
 * helper-priv: the functions of helper.c that other files of inject/ use.
 */
#ifndef MEMDIAG_INJECT_HELPER_PRIV_H
#define MEMDIAG_INJECT_HELPER_PRIV_H

#include <stdint.h>

#include "base/err.h"
#include "inject/job.h"
#include "inject/worker.h"

/*
 * Have C make a thread that becomes the worker H.  Afterwards C has nothing left to undo: H unmaps
 * the workspace.  Returns 0, 1 if the target could not make a thread (C is unchanged), or -1 with
 * E.  The deadline is for C alone.
 */
int helper_make(struct worker *c, const struct workspace *ws, struct worker *h,
	uint64_t borrow_deadline_ns, struct err *e);

/*
 * Let H run down its undo list and end; waits a moment for that.  Does nothing for a helper that
 * has ended or was never made.
 */
void helper_dismiss(struct worker *h);

#endif
