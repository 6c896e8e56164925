/*
 * calls: the system calls that take memory or give it back, as the kernel's tracepoints report
 * them.
 */
#ifndef MEMDIAG_TRACE_CALLS_H
#define MEMDIAG_TRACE_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum trace_call {
	TRACE_MMAP,
	TRACE_MUNMAP,
	TRACE_MREMAP,
	TRACE_BRK,
	TRACE_MADVISE, /* MADV_DONTNEED and MADV_FREE only */
	TRACE_SHMAT,
	TRACE_SHMDT,
	TRACE_NR_CALLS,
};

/* Their names, in that order, NULL at the end. */
extern const char *const trace_call_names[];

#define TRACE_MAX_ARGS 6

/* A call that was made. */
struct trace_entry {
	enum trace_call call;
	uint64_t arg[TRACE_MAX_ARGS];
	uint64_t mapped_bytes; /* of shmat(), if the kernel has reported it; else 0 */
};

/* The field of the tracepoint that has the first argument; the others follow it. */
const char *trace_first_field(enum trace_call call);
size_t trace_nr_args(enum trace_call call);

/*
 * The filter of the kernel for calls of at least MIN_BYTES, or with IS_SMALL for the smaller ones
 * that may take away from what larger ones have mapped, into BUF; returns BUF, or NULL where no
 * filter is needed.  trace_has_small() says whether there are any of the latter kind.
 */
const char *trace_filter(
	enum trace_call call, uint64_t min_bytes, bool is_small, char *buf, size_t size);
bool trace_has_small(enum trace_call call, uint64_t min_bytes);

/*
 * The effect of a call that returned RESULT: memory that it took away, then what it moved, then
 * what it mapped; each may be empty.
 */
struct trace_range {
	uint64_t start, end;
};
struct trace_effect {
	struct trace_range unmapped, mapped;
	struct trace_range from; /* moved from here ... */
	uint64_t to;		 /* ... to here */
	/* what is shown: the address, and how much was mapped, unmapped or discarded */
	uint64_t address, bytes;
	bool is_size_unknown; /* of a segment that was gone before its size was read */
};

/*
 * BREAK is the end of the heap before the call, 0 if it is not known.  Sizes are rounded to
 * PAGE_BYTES.  The size of what shmat() and shmdt() map is not in their arguments: MAPPED and
 * UNMAPPED are empty.  A call that failed has no effect but what is shown.
 */
struct trace_effect trace_effect_of(
	const struct trace_entry *call, uint64_t result, uint64_t brk, uint64_t page_bytes);

/* The error number of a call that returned RESULT, 0 if it did not fail.  brk() never does. */
int trace_error(enum trace_call call, uint64_t result);

#endif
