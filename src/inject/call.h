/*
 * call: a call in the target that may take long.
 */
#ifndef MEMDIAG_INJECT_CALL_H
#define MEMDIAG_INJECT_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "base/err.h"
#include "base/raddr.h"
#include "inject/job.h"
#include "inject/worker.h"

/* A call that may take long, with locks of libc held. */
struct long_call {
	const char *name;
	raddr fn;
	uint64_t arg[ARCH_MAX_ARGS];
	size_t nr_args;
	/*
	 * Calls that C makes right after it, without a stop in between: for many short ones. Their
	 * frames, and the stack of all, go below NEXT_ROOM, LONG_CALL_NEXT_BYTES for each and
	 * LONG_CALL_STACK_BYTES.  Not where the call is the last.
	 */
	const struct next_call *next;
	size_t nr_next;
	raddr next_room;
	bool holds_more; /* it has other locks while it waits for an arena's */
	bool is_last;	 /* there is nothing more to do for us afterwards */
	uint64_t deadline_ns;
};

/*
 * Have C make it.  Afterwards C is stopped, its undo list as before; or, if the call was its last,
 * it may have ended or be back in the program (is_ours is false).  *RET_NS: how long it took.
 */
int long_call_make(const struct long_call *call, struct worker *c, const struct workspace *ws,
	uint64_t *ret_ns, struct err *e);

#endif
