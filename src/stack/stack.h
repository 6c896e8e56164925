/*
 * stack: the call stack of a stopped thread.
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

/* A reader of memory and unwind tables of one target.  Not thread-safe. */
struct walker;

/* Make a walker; T and O are borrowed and must outlive it. */
int walker_new(struct walker **ret, const struct target *t, const struct objects *o, struct err *e);
void walker_free(struct walker *w);
static inline void
walker_cleanup(struct walker **w)
{
	walker_free(*w);
}
#define auto_walker __attribute__((cleanup(walker_cleanup)))

struct stack_frame {
	raddr pc;	/* in the innermost frame; else the return address into this frame */
	raddr sp;	/* the stack pointer in this frame */
	bool is_signal; /* a signal handler's trampoline: the interrupted frame comes next */
	bool is_guess;	/* found by the frame pointer; only by stack_walk_far() */
};

#define STACK_MAX_FRAMES 4096

struct stack {
	size_t nr;
	/*
	 * The walk reached the thread's first function by unwind tables alone, without guessing.
	 * Then every return address on the stack is in FRAME.
	 */
	bool is_complete;
	/*
	 * frames are missing: more than STACK_MAX_FRAMES, or beyond an earlier copy of the stack,
	 * or the time was over
	 */
	bool is_cut;
	/* The walk read writable memory of the target outside of the copy. */
	bool is_beyond;
	struct stack_frame frame[STACK_MAX_FRAMES]; /* innermost first; few of its pages are used */
};

/*
 * Walk the innermost 256 frames, by unwind tables alone, of a thread whose general registers are
 * REGS, in the layout of NT_PRSTATUS.  COPY has the COPY_BYTES of its stack that begin at its stack
 * pointer.  The thread may continue to run: only the copy and read-only memory are used, and memory
 * beyond the copy is read as it is now.  IS_SIGNAL may also be set in the interrupted frame.  The
 * vdso and programs without .eh_frame_hdr have no tables here: their threads are not complete.
 */
void stack_walk(struct walker *w, const uint64_t *regs, raddr sp, const char *copy,
	size_t copy_bytes, struct stack *ret);

#define STACK_MAX_REGS 64

/* A thread whose stack is walked as far as possible. */
struct stack_source {
	/* STACK_MAX_REGS registers; SP, COPY and COPY_BYTES as in stack_walk() */
	const uint64_t *regs;
	raddr sp;
	const char *copy;
	size_t copy_bytes;
	const struct regions *maps; /* of the target; memory outside of them is not read */
	/* The thread is stopped: memory outside of the copy is read, until this time. */
	uint64_t deadline_ns;
	bool is_held;
	/* The copy is of an earlier moment: writable memory has changed since, and is not read. */
	bool is_past;
};

/*
 * Walk up to STACK_MAX_FRAMES frames.  If a function has no unwind table its caller is found by the
 * frame pointer, which such code has if it was compiled with it.  That is a guess: the frame may be
 * missing, or be an older one of the same stack.  It always leads to executable memory.
 */
void stack_walk_far(struct walker *w, const struct stack_source *s, struct stack *ret);

#endif
