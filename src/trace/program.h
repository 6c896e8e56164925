/*
 * program: one address space that is traced, from the first event of a process or the execution of
 * a program to its end: whose stacks they are, and what was mapped by which of them.
 */
#ifndef MEMDIAG_TRACE_PROGRAM_H
#define MEMDIAG_TRACE_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/raddr.h"
#include "capture/live-files.h"
#include "capture/walked.h"
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
	uint64_t freed_bytes;		       /* of that, by whomever */
	uint64_t nr_unmaps, unmapped_bytes;    /* calls that took memory away, of whomever */
	uint64_t nr_discards, discarded_bytes; /* madvise() */
	uint64_t nr_failed;
	uint64_t nr_minor, nr_major; /* page faults, estimated */
	uint64_t touched_bytes;
	/* at the end, by trace_settle() */
	uint64_t left_bytes, resident_bytes, swapped_bytes, huge_bytes;
};

/* A class of maps that memory of a stack is in at the end. */
struct trace_class {
	uint32_t stack;
	const char *name; /* static */
	uint64_t bytes, resident_bytes;
};

/* One page fault that was reported. */
struct trace_touch {
	uint64_t address;
	uint32_t stack, weight; /* one for so many */
};

struct trace_stack {
	enum stacks_end end;
	/* By trace_program_name(): malloc itself asks for memory, and the frames from the inner end
	 * that are its own, or libc's. */
	bool is_mallocs;
	uint32_t nr_inner;
	struct trace_sums sums;
};

struct trace_program {
	pid_t pid;
	char comm[64];
	struct profile *profile; /* its frames and stacks; without values */
	struct {
		struct trace_stack *v; /* of each of the profile's stacks */
		size_t nr, room;
	} stacks;
	struct stacks_marks marks;
	struct ledger ledger; /* owners are stacks */
	uint64_t brk;	      /* the end of its heap; 0: not known yet */
	struct {
		struct trace_range *v; /* System V segments that are attached */
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
	bool has_no_leader;	     /* the thread that has its number has ended */
	unsigned int nr_rounds_over; /* since it was seen that the process has ended */
	bool is_settled;	     /* left_bytes and so on are known ... */
	bool knows_huge;	     /* and huge_bytes */
	/*
	 * A child begins as what its parent was at the fork: ORIGIN, which is kept open for it,
	 * until it is open itself.  IS_LATE: it executes another program already, or has ended, so
	 * that all its stacks are walked and named as ORIGIN's.
	 */
	struct trace_program *origin;
	bool is_late;
	size_t nr_heirs; /* programs whose origin it is */
	raddr first_sp;	 /* the stack pointer at the first instruction; 0: unknown */
	/* the first code that was mapped after it was executed, 0 if that was not seen */
	raddr first_code;
	/* While it is open: */
	bool is_open, is_unreadable;
	/* code was mapped since it was read: of a file, or by a compiler */
	bool is_stale, has_new_code;
	uint64_t read_ns, reading_ns; /* when it was read, and how long that took */
	struct target target;
	struct process process;
	struct walker *walker;
	struct live_files live;
	struct symbols_files files;
	struct symbols *symbols;
	size_t nr_named; /* stacks whose frames have their names */
};

/* The program that PID runs now.  NULL for lack of memory. */
struct trace_program *trace_program_new(pid_t pid);
/* P was forked by PARENT. */
void trace_program_inherit(struct trace_program *p, struct trace_program *parent);
/*
 * Read it, if that has not been done and it still runs; what cannot be read has the stacks of its
 * origin, or none.
 */
void trace_program_open(struct trace_program *p);
/* Read again what is mapped.  0, or -1 with E. */
int trace_program_read(struct trace_program *p, struct err *e);
/* Name what has no name yet, and let go all but the names and sums.  0, or -1 with E. */
int trace_program_close(struct trace_program *p, struct err *e);
void trace_program_free(struct trace_program *p);

/* Whether the process has ended; some of its records may not have come yet. */
bool trace_program_has_ended(const struct trace_program *p);
/* Executable memory was mapped at START, of a file if HAS_FILE. */
void trace_program_mapped(struct trace_program *p, raddr start, bool has_file);

/*
 * The number of the stack of R, which is an event with registers, into *RET.  ROOM is where it is
 * walked.  0, or -1 with E for lack of memory.
 */
int trace_program_stack(struct trace_program *p, const struct perf_record *r, struct stack *room,
	uint32_t *ret, struct err *e);

/* Name the frames that have come.  0, or -1 with E. */
int trace_program_name(struct trace_program *p, struct err *e);

#endif
