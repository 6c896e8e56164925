/*
 * pairs: calls that threads have entered, until they return.
 */
#ifndef MEMDIAG_TRACE_PAIRS_H
#define MEMDIAG_TRACE_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "trace/calls.h"

struct trace_program;

/* A call that has not returned yet. */
struct trace_pending {
	pid_t tid;
	uint32_t generation; /* of the event that has reported it */
	struct trace_program *program;
	struct trace_entry entry;
	uint32_t stack;
	uint64_t time_ns;
	const char *file; /* that it has mapped so far; borrowed, NULL if none is known */
};

/* Zeroed it is empty. */
struct trace_pairs {
	void *root; /* of tsearch(3): by TID */
	size_t nr;
};

void trace_pairs_release(struct trace_pairs *p);

/*
 * Thread P->tid has entered the call *P.  *RET_LOST: it was in another one, whose return was not
 * seen.  0, or -1 for lack of memory.
 */
int trace_pairs_enter(struct trace_pairs *pairs, const struct trace_pending *p, bool *ret_lost);

/*
 * Whether the thread of P is in that very call already, as an event of another generation has
 * reported it.
 */
bool trace_pairs_has(const struct trace_pairs *pairs, const struct trace_pending *p);

/* The call that thread TID is in, to be changed; NULL if that was not seen. */
struct trace_pending *trace_pairs_find(const struct trace_pairs *pairs, pid_t tid);

/* Thread TID has returned from CALL, or from any with TRACE_NR_CALLS: *RET is what it had entered.
 * False if that was not seen. */
bool trace_pairs_leave(
	struct trace_pairs *pairs, pid_t tid, enum trace_call call, struct trace_pending *ret);

#endif
