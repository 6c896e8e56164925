/*
 * unwind: who called whom, of the thread that asks. It runs inside a stranger's process, within a
 * call of its malloc or in a signal handler: it calls nothing of libc, takes no lock, leaves
 * errno alone, has no thread-local storage, and allocates nothing after unwind_start(). It reads
 * the stack only within bounds that the caller gives, and unwind tables (.eh_frame) only of
 * objects that are loaded. doc/internals/unwind.md has the design.
 *
 *	walk.c			the frames of a stack; what is taken over from the last walk
 *	step.c			from one frame to its caller
 *	cache.h, cache.c	code address -> rule
 *	objects.c		what is loaded
 *	seen.c			which of the objects that were at one address, one after the other
 *	index.c			an object whose linker has made no .eh_frame_hdr
 *	rule.c			the few shapes that a rule mostly has
 *	tables.c		an object's .eh_frame_hdr and .eh_frame
 *	program.c		call frame instructions
 *	expression.c		DWARF expressions
 *	bytes.h, processor.h	numbers as tables have them; what differs between processors
 *
 * From top to bottom: each needs only files below it.
 */
#ifndef MEMDIAG_UNWIND_UNWIND_H
#define MEMDIAG_UNWIND_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dl_phdr_info;
struct dl_find_object;

#pragma GCC visibility push(hidden)

/* ---- the process: what is loaded ---- */

/* Something that is mapped, in a program that has no dynamic linker. */
struct unwind_image {
	const void *header; /* its ELF header */
	/* Its .eh_frame, where no program header shows a table of it; else NULL. */
	const void *frames;
	size_t frames_bytes;
};

/*
 * An object that was met in a walk.  Others may be loaded at its addresses later, or were before:
 * by its number it is distinguished
 * from them.
 */
#define UNWIND_MAX_CODE 4
#define UNWIND_MAX_ID 32
struct unwind_seen {
	uint32_t number;  /* no other at its addresses has it; 0 if there was no other */
	const char *name; /* its path as ld.so has it, valid in the call; NULL: not known */
	uint32_t nr_code, id_bytes;
	struct {
		uintptr_t start, end;
		uint64_t offset_bytes; /* in the file */
	} code[UNWIND_MAX_CODE];       /* what can be executed of it, in whole pages */
	uint8_t id[UNWIND_MAX_ID];     /* its build-id; no bytes: it has none */
};
/* The number of code that is not known to be in one of the objects that were there. */
#define UNWIND_NO_NUMBER 255

struct unwind_host {
	/* dl_iterate_phdr(); NULL in a program that has no dynamic linker. */
	int (*iterate)(int (*each)(struct dl_phdr_info *, size_t, void *), void *arg);
	/* _dl_find_object() of glibc since 2.35; NULL if it is missing. */
	int (*find_object)(void *pc, struct dl_find_object *ret);
	/*
	 * Memory of at least BYTES, zeroed, page-aligned, never given back; NULL if none is
	 * available.
	 */
	void *(*map)(size_t bytes);
	/* Without ITERATE: what is mapped (program, vDSO, agent); not copied. */
	const struct unwind_image *image;
	size_t nr_images;
	size_t page_bytes;
	/* Objects can be unloaded: with glibc. musl's dlclose() leaves them. */
	bool can_unload;
	/*
	 * Called in a walk for each object that can be unloaded, when it is met for the first time;
	 * by several threads at once, and in signal handlers.  Its number is UNWIND_NO_NUMBER if
	 * there were too many: then what is in it is not known.  NULL: not wanted.
	 */
	void (*seen)(const struct unwind_seen *);
};

/*
 * Get ready: find what is loaded, and map the cache. To be called from a thread that may wait for
 * locks of ld.so, not in a hook. HOST is copied. False: there is no memory; walks then
 * find no frame. May be called again, which keeps what there is, and notes objects again.
 */
bool unwind_start(const struct unwind_host *host);

/*
 * Note what is loaded now. Only a process without _dl_find_object() needs it, after dlopen():
 * until then a stack that comes through a new object ends there. Not in a hook.
 */
void unwind_note_objects(void);

/*
 * In a forked child, in which the thread that was noting objects may be missing: what it has noted
 * by half is forgotten.
 */
void unwind_begin_child(void);

/*
 * Forget the objects that were met: each is met for the first time again.  Not while anybody walks,
 * and no stack from before may be used any more.
 */
void unwind_forget(void);

/* Which objects are loaded: another number if another one is, or one less. 0: unknown. */
uint64_t unwind_generation(void);

/*
 * The number of the object that PC is in, code of a frame that the calling thread has just walked;
 * at most UNWIND_NO_NUMBER.
 */
uint32_t unwind_number_of(uintptr_t pc);

/* ---- where a walk begins ---- */

#if defined __aarch64__ || defined UNWIND_AARCH64
#define UNWIND_NR_KEPT 11 /* x19 to x28, x30 */
#elif defined __x86_64__
#define UNWIND_NR_KEPT 5 /* rbx, r12 to r15 */
#else
#define UNWIND_NR_KEPT 1
#endif

/* The registers that a function leaves to its caller as they were. */
struct unwind_regs {
	uintptr_t pc, sp, fp;
	uintptr_t kept[UNWIND_NR_KEPT];
};

/* Those of the function that this is compiled into, which is the first frame. */
static inline __attribute__((always_inline)) void
unwind_capture(struct unwind_regs *ret)
{
#if defined __x86_64__
	__asm__ volatile("leaq 0f(%%rip), %%rax\n"
			 "0:	movq %%rax, (%0)\n"
			 "	movq %%rsp, 8(%0)\n"
			 "	movq %%rbp, 16(%0)\n"
			 "	movq %%rbx, 24(%0)\n"
			 "	movq %%r12, 32(%0)\n"
			 "	movq %%r13, 40(%0)\n"
			 "	movq %%r14, 48(%0)\n"
			 "	movq %%r15, 56(%0)"
			 :
			 : "r"(ret)
			 : "rax", "memory");
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
}

/* ---- where it may read ---- */

/* A stack, [start, end); from the stack pointer to END it is mapped. */
struct unwind_bounds {
	uintptr_t start, end;
};

struct unwind_thread {
	struct unwind_bounds own; /* the stack that the thread was created with */
	/*
	 * The stack that SP is in, if it is not in OWN: a coroutine's, or one for signals. False:
	 * unknown, the walk ends there. NULL: the same for all.
	 */
	bool (*find)(void *arg, uintptr_t sp, struct unwind_bounds *ret);
	/*
	 * Whether the word at AT of such a stack can be read. Then the bounds that FIND returns may
	 * have more than the stack, and what is not mapped. NULL: all words within them can.
	 */
	bool (*may_read)(void *arg, uintptr_t at);
	void *arg;
};

/* ---- the walk ---- */

enum unwind_end {
	UNWIND_COMPLETE, /* the outermost frame is the thread's first function */
	UNWIND_CUT,	 /* there are more frames than fit */
	UNWIND_BROKEN,	 /* the outermost frame's caller is unknown */
};

struct unwind_frame {
	uintptr_t pc; /* of the innermost frame, and where a signal came; else a return address */
	uintptr_t sp, fp; /* in this frame */
	uint32_t node;	  /* the caller's, for the stack from the outermost frame to this one */
	uint32_t how;	  /* PC, SP, and FP were found; UNWIND_ below, the rest is walk.c's */
};
#define UNWIND_EXACT 0x01000000u    /* PC is where the frame is, not where it continues */
#define UNWIND_OF_TABLE 0x02000000u /* code that has a rule; without, its caller was guessed */

/*
 * The stack of one thread, and what the next walk takes over from it. The memory is the caller's,
 * unwind_stack_bytes() of it, zeroed. Used by one walk at a time: a signal handler that interrupts
 * one must not begin another with the same stack.
 */
struct unwind_stack {
	uint32_t max; /* frames, innermost first; 0: not yet set */
	uint32_t nr;
	uint32_t nr_same;	     /* outermost ones that are as they were, with their nodes */
	uint8_t end;		     /* enum unwind_end */
	bool is_kept;		     /* the next walk may take frames over */
	struct unwind_bounds bounds; /* of a kept one */
	uint64_t generation;	     /* of what was loaded */
	struct unwind_frame frame[]; /* OUTERMOST FIRST, then as many to work with */
};

/* For a stack that nothing but unwind_stack_copy() writes to. */
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

/* For at most MAX frames, 1 at least. */
void unwind_stack_init(struct unwind_stack *s, uint32_t max);

/* Take nothing over from what S has. */
void unwind_stack_forget(struct unwind_stack *s);

/* Make TO, which has room for all its frames, what FROM is. */
void unwind_stack_copy(struct unwind_stack *to, const struct unwind_stack *from);

/*
 * Whether a walk from REGS would find what S has, and all of it: then its nodes are valid. It
 * is compared as unwind_walk() does it.
 */
bool unwind_is_same(
	struct unwind_stack *s, const struct unwind_regs *regs, const struct unwind_thread *t);

/*
 * Registers, and words at distances from SP, that a stack was found by.  With the same ones a walk
 * finds the same frames, but for values of FP that no frame depends on.
 */
#define UNWIND_MAX_WORDS 80
struct unwind_words {
	uint32_t nr; /* a multiple of UNWIND_WORDS_STEP; 0: of no stack */
	bool needs_fp;
	uintptr_t pc, sp, fp;
	struct unwind_bounds bounds;
	uint64_t generation;
	uint32_t at[UNWIND_MAX_WORDS]; /* bytes from SP; the innermost frame's first */
	uint64_t value[UNWIND_MAX_WORDS];
};
#define UNWIND_WORDS_STEP 4

/*
 * Note into RET, zero at first or noted before, what S was found by, which the calling thread has
 * just walked and whose innermost frames it is still in.  False: S was cut, or it takes more than
 * words of the stack, or too many of them.
 */
bool unwind_note_words(const struct unwind_stack *s, struct unwind_words *ret);

/* Whether the stack of REGS has WORDS, of some stack: then it is that one. */
bool unwind_has_words(const struct unwind_words *words, const struct unwind_regs *regs,
	const struct unwind_thread *t);

/*
 * Walk from REGS outwards. Afterwards S->frame[S->nr - 1] is the frame of REGS, S->frame[0] the
 * outermost that is known. The nodes of the first NR_SAME frames are valid, and if there is one,
 * END is as it was; the caller sets the others.
 */
void unwind_walk(
	struct unwind_stack *s, const struct unwind_regs *regs, const struct unwind_thread *t);

#pragma GCC visibility pop

#endif
