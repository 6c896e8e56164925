/* sums: the memory that the calls of a program mapped and removed, by stack. */
#ifndef MEMDIAG_TRACE_SUMS_H
#define MEMDIAG_TRACE_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "trace/calls.h"
#include "trace/program.h"

#define TRACE_NO_STACK UINT32_MAX

/*
 * Add the call ENTRY of STACK, which returned RESULT, to the sums of P, and store its effect in
 * *RET.  With TRACE_NO_STACK, or if it concerns fewer than MIN_BYTES, it only removes memory that
 * others mapped.  Returns 0, or -1 with E without memory.
 */
int trace_account(struct trace_program *p, const struct trace_entry *entry, uint64_t result,
	uint32_t stack, uint64_t min_bytes, struct trace_effect *ret, struct err *e);

/* Record the end of the heap and the segments that P's program already has. */
int trace_account_begin(struct trace_program *p, struct err *e);

/*
 * Add a page fault of STACK at ADDRESS, which represents WEIGHT faults.  Returns 0, or -1 with E
 * without memory.
 */
int trace_account_fault(struct trace_program *p, uint64_t address, uint32_t stack, uint32_t weight,
	bool is_major, struct err *e);

#endif
