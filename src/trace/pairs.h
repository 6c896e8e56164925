/* pairs: calls that threads have entered, kept until they return. */
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
	uint32_t generation; /* of the event that reported it */
	struct trace_program *program;
	struct trace_entry entry;
	uint32_t stack;
	uint64_t time_ns;
	const char *file; /* the file that it has mapped so far; borrowed, NULL if unknown */
};

/* Empty if zeroed. */
struct trace_pairs {
	void *root; /* from tsearch(3), by TID */
	size_t nr;
};

void trace_pairs_release(struct trace_pairs *p);

/*
 * Record that thread P->tid has entered the call *P.  *RET_LOST is set if the thread was in another
 * call whose return was not seen.  Returns 0, or -1 without memory.
 */
int trace_pairs_enter(struct trace_pairs *pairs, const struct trace_pending *p, bool *ret_lost);

/*
 * True if the thread of P is already in this call, as reported by an event of another generation.
 */
bool trace_pairs_has(const struct trace_pairs *pairs, const struct trace_pending *p);

/* Return the call that thread TID is in, for changes; NULL if its entry was not seen. */
struct trace_pending *trace_pairs_find(const struct trace_pairs *pairs, pid_t tid);

/*
 * Record that thread TID has returned from CALL, or with TRACE_NR_CALLS from any call: *RET is the
 * entered call.  Return false if the entry was not seen.
 */
bool trace_pairs_leave(
	struct trace_pairs *pairs, pid_t tid, enum trace_call call, struct trace_pending *ret);

#endif
