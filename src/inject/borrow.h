/*
 * borrow: a thread, borrowed for one call, and given back.
 */
#ifndef MEMDIAG_INJECT_BORROW_H
#define MEMDIAG_INJECT_BORROW_H

#include "base/err.h"
#include "inject/malloc.h"
#include "inject/target.h"
#include "inject/worker.h"

/* Take a thread that is proven safe.  Fails with ERR_NO_SAFE_POINT after opt->wait_ns. */
int borrow_take(struct worker *c, struct inject_target *callee, const struct inject_options *opt,
	struct inject_report *report, struct err *e);

/*
 * Give the thread back unchanged, down to the system call it waited in, and set held_ns.  It must
 * be stopped, with nothing left to undo.
 */
int borrow_return(struct worker *c, struct err *e);

/*
 * Give it back as borrow_return() does if it is stopped between two calls, else as
 * borrow_abandon().  For the end of work that failed.
 */
void borrow_end(struct worker *c);

/*
 * Let the thread go where it is: it runs down the undo list by itself, or is back in the program.
 * If a fault in one of our calls stopped it, it is turned back first.  Does nothing for a worker
 * that is no longer ours.
 */
void borrow_abandon(struct worker *c);

#endif
