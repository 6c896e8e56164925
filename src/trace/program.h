/*
 * program: one traced address space, from a process's first event or an execution of a program to
 * its end: its stacks, and the memory that each of them mapped.
 */
#ifndef MEMDIAG_TRACE_PROGRAM_H
#define MEMDIAG_TRACE_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agentdata/live-files.h"
#include "base/err.h"
#include "base/raddr.h"
#include "capture/stack-walks.h"
#include "glibc/process.h"
#include "os/os.h"
#include "os/perf.h"
#include "profile/profile.h"
#include "profile/symbols.h"
#include "stack/stack.h"
#include "trace/calls.h"
#include "trace/ledger.h"

/* Sums over the calls, or page faults, with one stack. */
struct trace_sums {
	uint64_t nr_maps, mapped_bytes;	       /* calls that mapped memory */
	uint64_t freed_bytes;		       /* part of it removed later, by any stack */
	uint64_t nr_unmaps, unmapped_bytes;    /* calls that removed memory, mapped by any stack */
	uint64_t nr_discards, discarded_bytes; /* madvise() */
	uint64_t nr_failed;
	uint64_t nr_minor, nr_major; /* page faults, estimated */
	uint64_t touched_bytes;
	/* at the end, by trace_settle() */
	uint64_t left_bytes, resident_bytes, swapped_bytes, huge_bytes;
};

/* A class of maps that contains memory of a stack at the end. */
struct trace_class {
	uint32_t stack;
	const char *name; /* static */
	uint64_t bytes, resident_bytes;
};

/* A reported page fault. */
struct trace_touch {
	uint64_t address;
	uint32_t stack, weight; /* WEIGHT: faults per reported fault */
};

struct trace_stack {
	enum stacks_end end;
	/*
	 * Set by trace_program_name(): malloc itself requests memory; and the number of innermost
	 * frames that belong to malloc or libc.
	 */
	bool is_mallocs;
	uint32_t nr_inner;
	struct trace_sums sums;
};

struct trace_program {
	pid_t pid;
	char comm[64];
	struct profile *profile; /* its frames and stacks; without values */
	struct {
		struct trace_stack *v; /* one for each of the profile's stacks */
		size_t nr, room;
	} stacks;
	struct stacks_marks marks;
	struct ledger ledger; /* owners are stacks */
	uint64_t brk;	      /* the end of its heap; 0: not yet known */
	struct {
		struct trace_range *v; /* attached System V segments */
		size_t nr, room;
	} segments;
	struct {
		struct trace_touch *v;
		size_t nr, room;
	} touches;
	struct {
		struct trace_class *v;
		size_t nr, room;
	} classes;
	bool is_over;		     /* the process has ended, or executes another program */
	bool has_no_leader;	     /* the thread with the process's number has ended */
	unsigned int nr_rounds_over; /* since the end of the process was seen */
	bool is_settled;	     /* left_bytes and the following members are known ... */
	bool knows_huge;	     /* ... including huge_bytes */
	/*
	 * A child starts as a copy of its parent at the fork: ORIGIN, which stays open until the
	 * child is open itself.  IS_LATE: the child executes another program already, or has ended,
	 * so all its stacks are walked and named as ORIGIN's.
	 */
	struct trace_program *origin;
	bool is_late;
	size_t nr_heirs; /* number of programs with this origin */
	raddr first_sp;	 /* the stack pointer at the first instruction; 0: unknown */
	/* the first code mapped after the program was executed, 0 if not seen */
	raddr first_code;
	/* While the program is open: */
	bool is_open, is_unreadable;
	/* code was mapped since the last read: from a file, or by a compiler */
	bool is_stale, has_new_code;
	uint64_t read_ns, reading_ns; /* time of the last read, and its duration */
	struct target target;
	struct process process;
	struct walker *walker;
	struct live_files live;
	struct symbols_files files;
	struct symbols *symbols;
	size_t nr_named; /* stacks whose frames have names */
};

/* Return the program that PID runs now; NULL without memory. */
struct trace_program *trace_program_new(pid_t pid);
/* Record that P was forked by PARENT. */
void trace_program_inherit(struct trace_program *p, struct trace_program *parent);
/*
 * Read the program if it was not read yet and still runs.  If it is unreadable, it has the stacks
 * of its origin, or no stacks.
 */
void trace_program_open(struct trace_program *p);
/* Read the mappings again.  Returns 0, or -1 with E. */
int trace_program_read(struct trace_program *p, struct err *e);
/* Find the missing names, and release all data except names and sums.  Returns 0, or -1 with E. */
int trace_program_close(struct trace_program *p, struct err *e);
void trace_program_free(struct trace_program *p);

/* True if the process has ended; some of its records may be pending. */
bool trace_program_has_ended(const struct trace_program *p);
/* Record that executable memory was mapped at START, from a file if HAS_FILE. */
void trace_program_mapped(struct trace_program *p, raddr start, bool has_file);

/*
 * Store the number of R's stack, an event with registers, in *RET.  The stack is walked in ROOM.
 * Returns 0, or -1 with E without memory.
 */
int trace_program_stack(struct trace_program *p, const struct perf_record *r, struct stack *room,
	uint32_t *ret, struct err *e);

/* Name the frames of new stacks.  Returns 0, or -1 with E. */
int trace_program_name(struct trace_program *p, struct err *e);

#endif
