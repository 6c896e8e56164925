/*
 * unwind: the call stack of the calling thread.  It runs inside another program's process, within a
 * call of its malloc or in a signal handler: it calls no function of libc, takes no lock, keeps
 * errno, has no thread-local storage, and allocates nothing after unwind_start().  It reads the
 * stack only within the caller's bounds, and unwind tables (.eh_frame) only of loaded objects.
 * doc/internals/unwind.md has the design.
 *
 *	walk.c			the frames of a stack; frames that are reused from the last walk
 *	way.c			from a function of the caller out of the caller's code
 *	step.c			from one frame to its caller
 *	cache.h, cache.c	code address -> rule
 *	objects.c		loaded objects
 *	seen.c			objects that were loaded at the same address, one after another
 *	index.c			an object whose linker has made no .eh_frame_hdr
 *	rule.c			the few common shapes of a rule
 *	tables.c		an object's .eh_frame_hdr and .eh_frame
 *	program.c		call frame instructions
 *	expression.c		DWARF expressions
 *	bytes.h, processor.h	numbers in tables; differences between processors
 *
 * Each file needs only files below it in this list.
 */
#ifndef MEMDIAG_UNWIND_UNWIND_H
#define MEMDIAG_UNWIND_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* ---- loaded objects ---- */

/* The number for code that cannot be assigned to one of the objects at its address. */
#define UNWIND_NO_NUMBER 255

/* ---- the beginning of a walk ---- */

#if defined __aarch64__ || defined UNWIND_AARCH64
#define UNWIND_NR_KEPT 11 /* x19 to x28, x30 */
#elif defined __x86_64__
#define UNWIND_NR_KEPT 5 /* rbx, r12 to r15 */
#else
#define UNWIND_NR_KEPT 1
#endif

struct unwind_state {
	uintptr_t pc, sp, fp;
	bool is_exact; /* PC is the present instruction, not the one after a call */
};

struct unwind_regs {
	/* Those of a running function, with all that it preserves for its caller. */
	uintptr_t pc, sp, fp;
	uintptr_t kept[UNWIND_NR_KEPT];
	struct unwind_state from; /* the first frame of the walk: this function or a caller of it */
};

/* Make the running function the first frame. */
static inline void
unwind_from_inside(struct unwind_regs *regs)
{
	regs->from = (struct unwind_state){ regs->pc, regs->sp, regs->fp, true };
}

/* Get the registers of the function into which this is inlined.  It is the first frame. */
static inline __attribute__((always_inline)) void
unwind_capture(struct unwind_regs *ret)
{
#if defined __x86_64__
	uintptr_t pc, sp, fp;

	/* In registers, as the processor cannot forward two stores to one load. */
	__asm__ volatile("leaq 0f(%%rip), %0\n"
			 "0:	movq %%rsp, %1\n"
			 "	movq %%rbp, %2\n"
			 "	movq %%rbx, (%3)\n"
			 "	movq %%r12, 8(%3)\n"
			 "	movq %%r13, 16(%3)\n"
			 "	movq %%r14, 24(%3)\n"
			 "	movq %%r15, 32(%3)"
			 : "=&a"(pc), "=&c"(sp), "=&d"(fp)
			 : "S"(ret->kept)
			 : "memory");
	ret->pc = pc;
	ret->sp = sp;
	ret->fp = fp;
#elif defined __aarch64__
	__asm__ volatile("adr x16, 0f\n"
			 "0:	mov x17, sp\n"
			 "	stp x16, x17, [%0]\n"
			 "	stp x29, x19, [%0, 16]\n"
			 "	stp x20, x21, [%0, 32]\n"
			 "	stp x22, x23, [%0, 48]\n"
			 "	stp x24, x25, [%0, 64]\n"
			 "	stp x26, x27, [%0, 80]\n"
			 "	stp x28, x30, [%0, 96]"
			 :
			 : "r"(ret)
			 : "x16", "x17", "memory");
#else
	*ret = (struct unwind_regs){ 0 };
#endif
	unwind_from_inside(ret);
}

/* ---- readable memory ---- */

/* A stack, [start, end), which is mapped from the stack pointer to END. */
struct unwind_bounds {
	uintptr_t start, end;
};

/* ---- the walk ---- */

enum unwind_end {
	UNWIND_COMPLETE, /* the outermost frame is the thread's first function */
	UNWIND_CUT,	 /* more frames exist than fit */
	UNWIND_BROKEN,	 /* the outermost frame's caller is unknown */
};

struct unwind_frame {
	uintptr_t pc; /* instruction in the innermost or interrupted frame; else return address */
	uintptr_t sp, fp; /* values in this frame */
	/* Set by the caller, for the stack from the outermost frame to here. */
	uint64_t hash;
	uint32_t node; /* 0: not set */
	uint32_t how;  /* how PC, SP and FP were found; UNWIND_ below, the rest is walk.c's */
};
#define UNWIND_EXACT 0x01000000u    /* PC is the present instruction, not the one after a call */
#define UNWIND_OF_TABLE 0x02000000u /* PC's code has a rule; otherwise the caller was guessed */

/*
 * The stack of one thread, with data for the next walk.  The caller provides its memory,
 * unwind_stack_bytes() of zeroes.  Only one walk at a time may use it: a signal handler that
 * interrupts a walk must not begin another with the same stack.
 */
struct unwind_stack {
	uint32_t max; /* room for frames; 0: not initialised */
	uint32_t nr;
	uint32_t nr_same;	     /* outermost frames that are unchanged, with hash and node */
	uint8_t end;		     /* enum unwind_end */
	bool is_kept;		     /* the next walk may reuse frames */
	struct unwind_bounds bounds; /* of a kept stack */
	uint64_t generation;	     /* generation of the loaded objects */
	struct unwind_frame frame[]; /* OUTERMOST FIRST, then as many as scratch space */
};

/* The size of a stack that only unwind_stack_copy() writes. */
static inline size_t
unwind_copy_bytes(uint32_t max)
{
	return sizeof(struct unwind_stack) + (size_t)max * sizeof(struct unwind_frame);
}

static inline size_t
unwind_stack_bytes(uint32_t max)
{
	return sizeof(struct unwind_stack) + 2 * (size_t)max * sizeof(struct unwind_frame);
}
#define UNWIND_WORDS_STEP 4

#pragma GCC visibility pop

#endif
