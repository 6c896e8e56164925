/*
 * calls: the system calls that allocate or release memory, as reported by the kernel's tracepoints.
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
	TRACE_MADVISE, /* only MADV_DONTNEED and MADV_FREE */
	TRACE_SHMAT,
	TRACE_SHMDT,
	TRACE_NR_CALLS,
};

/* Their names, in this order, NULL-terminated. */
extern const char *const trace_call_names[];

#define TRACE_MAX_ARGS 6

/* A call with its arguments. */
struct trace_entry {
	enum trace_call call;
	uint64_t arg[TRACE_MAX_ARGS];
	uint64_t mapped_bytes; /* of shmat(), if the kernel reported it; else 0 */
};

/* Return the tracepoint's field for the first argument; the others follow it. */
const char *trace_first_field(enum trace_call call);
size_t trace_nr_args(enum trace_call call);

/*
 * Write to BUF the kernel filter for calls of at least MIN_BYTES, or with IS_SMALL for smaller ones
 * that may remove memory mapped by larger ones.  Returns BUF, or NULL if no filter is needed.
 * trace_has_small() is true if the latter kind exists.
 */
const char *trace_filter(
	enum trace_call call, uint64_t min_bytes, bool is_small, char *buf, size_t size);
bool trace_has_small(enum trace_call call, uint64_t min_bytes);

/*
 * The effect of a call that returned RESULT: first the memory that it removed, then what it moved,
 * then what it mapped; each may be empty.
 */
struct trace_range {
	uint64_t start, end;
};
struct trace_effect {
	struct trace_range unmapped, mapped;
	struct trace_range from; /* moved from here ... */
	uint64_t to;		 /* ... to here */
	/* for display: the address, and the bytes mapped, unmapped or discarded */
	uint64_t address, bytes;
	bool is_size_unknown; /* the segment was gone before its size was read */
};

/*
 * Return the effect of CALL.  BREAK is the end of the heap before the call, 0 if unknown.  Sizes
 * are rounded to PAGE_BYTES.  For shmat() and shmdt(), MAPPED and UNMAPPED are empty: their
 * arguments do not contain the size.  A failed call has only display values.
 */
struct trace_effect trace_effect_of(
	const struct trace_entry *call, uint64_t result, uint64_t brk, uint64_t page_bytes);

/* Return the error number of a call that returned RESULT, 0 if it succeeded. brk() never fails. */
int trace_error(enum trace_call call, uint64_t result);

#endif
