/*
 * borrow: a thread, borrowed for one call, and given back.
 */
#ifndef MEMDIAG_INJECT_BORROW_H
#define MEMDIAG_INJECT_BORROW_H

#include "base/err.h"
#include "inject/malloc.h"
#include "inject/target.h"
#include "inject/worker.h"

/* Take a thread that is proven safe.  ERR_NO_SAFE_POINT after opt->wait_ns. */
int borrow_take(struct worker *c, struct inject_target *callee, const struct inject_options *opt,
	struct inject_report *report, struct err *e);

/*
 * Give the thread back as it was, down to the system call it waited in, and note held_ns.  It must
 * be stopped, with nothing left to undo.
 */
int borrow_return(struct worker *c, struct err *e);

/*
 * Give it back as borrow_return() does if it stands between two calls; else borrow_abandon().  For
 * the end of work that failed.
 */
void borrow_end(struct worker *c);

/*
 * Let it go as it is: it runs down the undo list by itself, or is back in the program.  Out of a
 * fault in a call of ours it is turned back.  Does nothing for a worker that is not ours any more.
 */
void borrow_abandon(struct worker *c);

#endif
