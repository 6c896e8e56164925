/*
 * stack: who called whom in a stopped thread.
 *
 * libunwind does the unwinding.  It reads memory through us: the stack from a copy, unwind tables
 * from the mapped objects (src/elf); so deleted files and containers make no difference, and a walk
 * costs microseconds instead of one ptrace request for each word.
 */
#ifndef MEMDIAG_STACK_STACK_H
#define MEMDIAG_STACK_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/raddr.h"
#include "elf/objects.h"

struct regions;
struct target;

/* Reads memory and unwind tables of one target.  Not safe for two threads. */
struct walker;

/* T and O are borrowed and must outlive it. */
int walker_new(struct walker **ret, const struct target *t, const struct objects *o, struct err *e);
void walker_free(struct walker *w);
static inline void
walker_cleanup(struct walker **w)
{
	walker_free(*w);
}
#define auto_walker __attribute__((cleanup(walker_cleanup)))

struct stack_frame {
	raddr pc;	/* of the innermost frame; else the return address into this frame */
	raddr sp;	/* the stack pointer in this frame */
	bool is_signal; /* a signal handler's trampoline: what it interrupted comes next */
	bool is_guess;	/* found by the frame pointer; only by stack_walk_far() */
};

#define STACK_MAX_FRAMES 4096

struct stack {
	size_t nr;
	/*
	 * The walk came to the thread's first function by unwind tables alone, without guessing.
	 * Then every return address on the stack is in FRAME.
	 */
	bool is_complete;
	/* there are more than STACK_MAX_FRAMES, or than the copy of a moment that is past holds, or
	 * the time was over */
	bool is_cut;
	/* Memory was read that is no part of the copy and that the target may write to. */
	bool is_beyond;
	struct stack_frame frame[STACK_MAX_FRAMES]; /* innermost first; few pages are used of it */
};

/*
 * Walk the innermost 256 frames, by unwind tables alone, of a thread whose general registers are
 * REGS, in the layout of NT_PRSTATUS.
 * COPY holds the COPY_BYTES of its stack that begin at its stack pointer.  The thread may run on:
 * only the copy and read-only memory are looked at, and what lies beyond the copy is read as it
 * is now.  IS_SIGNAL may be set in the frame that was interrupted, too.  Neither the vdso nor
 * programs without .eh_frame_hdr have tables here: their threads are not complete.
 */
void stack_walk(struct walker *w, const uint64_t *regs, raddr sp, const char *copy,
	size_t copy_bytes, struct stack *ret);

#define STACK_MAX_REGS 64

/* A thread whose stack is to be walked as far as possible. */
struct stack_source {
	/* STACK_MAX_REGS, as of stack_walk(), as SP, COPY and COPY_BYTES are */
	const uint64_t *regs;
	raddr sp;
	const char *copy;
	size_t copy_bytes;
	const struct regions *maps; /* of the target; nothing else is read */
	/* The thread stands still: what is missing in the copy is read, until this time. */
	uint64_t deadline_ns;
	bool is_held;
	/*
	 * The copy is of an earlier moment: memory that may be written to has changed since, and is
	 * not read.
	 */
	bool is_past;
};

/*
 * Walk all STACK_MAX_FRAMES frames.  Where a function has no unwind table its caller is found by
 * the frame pointer, which such code has if it was compiled with it.  That is a guess: the frame
 * may be missing, or be an older one of the same stack.  It leads to executable memory, always.
 */
void stack_walk_far(struct walker *w, const struct stack_source *s, struct stack *ret);

#endif
