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
	 * Calls that C makes right after it, without a stop in between: for many short ones.  Their
	 * frames, and the stack of all, lie below NEXT_ROOM: LONG_CALL_NEXT_BYTES for each and
	 * LONG_CALL_STACK_BYTES.  Not for a call that is the last.
	 */
	const struct next_call *next;
	size_t nr_next;
	raddr next_room;
	bool holds_more; /* it holds other locks while it waits for an arena's */
	bool is_last;	 /* nothing more is to be done for us afterwards */
	uint64_t deadline_ns;
};

/*
 * Have C make CALL.  Afterwards C is stopped, with its undo list unchanged; or, if the call was its
 * last, it may have ended or be back in the program (is_ours is false). *RET_NS is the duration.
 */
int long_call_make(const struct long_call *call, struct worker *c, const struct workspace *ws,
	uint64_t *ret_ns, struct err *e);

#endif
