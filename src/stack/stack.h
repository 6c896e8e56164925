/*
 * stack: who called whom in a stopped thread.
 * May use: maps/, elf/, os/, base/.
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
#include "maps/maps.h"
#include "os/os.h"

/* Reads memory and unwind tables of one target.  Not safe for two threads. */
struct walker;

/* T and O are borrowed and must outlive it. */
int walker_new(
	struct walker **ret, const struct target *t, const struct objects *o, struct err *e);
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
	bool is_signal;	/* a signal handler's trampoline: what it interrupted comes next */
};

#define STACK_MAX_FRAMES 256

struct stack {
	struct stack_frame frame[STACK_MAX_FRAMES];	/* innermost first */
	size_t nr;
	/*
	 * The walk came to the thread's first function by unwind tables alone, without guessing.
	 * Then every return address on the stack is in FRAME.
	 */
	bool is_complete;
};

/*
 * Walk the stack of a thread whose general registers are REGS, in the layout of NT_PRSTATUS.
 * COPY holds the COPY_BYTES of its stack that begin at its stack pointer.  The thread may run on:
 * only the copy and read-only memory are looked at, and what lies beyond the copy is read as it
 * is now.
 */
void stack_walk(struct walker *w, const uint64_t *regs, raddr sp, const char *copy,
	size_t copy_bytes, struct stack *ret);

#endif
