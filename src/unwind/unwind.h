/*
 * unwind: the call stack of the calling thread.  It runs inside another program's process, within a
 * call of its malloc or in a signal handler: it calls no function of libc, takes no lock, keeps
 * errno, has no thread-local storage, and allocates nothing after unwind_start().  It reads the
 * stack only within the caller's bounds, and unwind tables (.eh_frame) only of loaded objects.
 * doc/internals/unwind.md has the design.
 *
 *	walk.c			the frames of a stack; frames that are reused from the last walk
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

struct dl_phdr_info;
struct dl_find_object;

#pragma GCC visibility push(hidden)

/* ---- loaded objects ---- */

/* A mapped object in a program without a dynamic linker. */
struct unwind_image {
	const void *header; /* its ELF header */
	/* Its .eh_frame if no program header shows a table of it; else NULL. */
	const void *frames;
	size_t frames_bytes;
};

/*
 * An object that was met in a walk.  Its number distinguishes it from objects that are loaded at
 * its addresses later or were loaded there before.
 */
#define UNWIND_MAX_CODE 4
#define UNWIND_MAX_ID 32
struct unwind_seen {
	uint32_t number;  /* unique among objects at its addresses; 0 for the only one */
	const char *name; /* its path from ld.so, valid during the call; NULL if unknown */
	uint32_t nr_code, id_bytes;
	struct {
		uintptr_t start, end;
		uint64_t offset_bytes; /* offset in the file */
	} code[UNWIND_MAX_CODE];       /* its executable parts, in whole pages */
	uint8_t id[UNWIND_MAX_ID];     /* its build-id; nr_id 0: no build-id */
};
/* The number for code that cannot be assigned to one of the objects at its address. */
#define UNWIND_NO_NUMBER 255

struct unwind_host {
	/* dl_iterate_phdr(); NULL in a program without a dynamic linker. */
	int (*iterate)(int (*each)(struct dl_phdr_info *, size_t, void *), void *arg);
	/* _dl_find_object() of glibc since 2.35; NULL if it is missing. */
	int (*find_object)(void *pc, struct dl_find_object *ret);
	/* Memory of at least BYTES, zeroed, page-aligned, never released; NULL on failure. */
	void *(*map)(size_t bytes);
	/* Without ITERATE: the mapped objects (program, vDSO, agent); not copied. */
	const struct unwind_image *image;
	size_t nr_images;
	size_t page_bytes;
	/* True if objects can be unloaded: with glibc. musl's dlclose() keeps them. */
	bool can_unload;
	/*
	 * Called in a walk for each object that can be unloaded, when the object is met for the
	 * first time; by several threads simultaneously, and in signal handlers.  The object's
	 * number is UNWIND_NO_NUMBER if too many objects were met: its code is then unknown.  NULL:
	 * no calls.
	 */
	void (*seen)(const struct unwind_seen *);
};

/*
 * Get ready: find the loaded objects, and map the cache.  Call this from a thread that may wait for
 * locks of ld.so, not in a hook.  HOST is copied.  False if no memory is available; walks then find
 * no frame.  A further call keeps the memory and notes the objects again.
 */
bool unwind_start(const struct unwind_host *host);

/*
 * Note the objects that are loaded now.  Needed only in a process without _dl_find_object(), after
 * dlopen(): until then, a stack with a frame in a new object ends there.  Do not call this in a
 * hook.
 */
void unwind_note_objects(void);

/*
 * In a forked child, discard notes that are incomplete because the thread that was writing them
 * does not exist there.
 */
void unwind_begin_child(void);

/*
 * Forget the objects that were met, so that each is met for the first time again.  No thread may be
 * walking, and earlier stacks must not be used afterwards.
 */
void unwind_forget(void);

/*
 * A number for the set of loaded objects, which changes when an object is loaded or unloaded. 0:
 * unknown.
 */
uint64_t unwind_generation(void);

/*
 * The number of the object that contains PC, the address of a frame that the calling thread has
 * just walked; at most UNWIND_NO_NUMBER.
 */
uint32_t unwind_number_of(uintptr_t pc);

/* ---- the beginning of a walk ---- */

#if defined __aarch64__ || defined UNWIND_AARCH64
#define UNWIND_NR_KEPT 11 /* x19 to x28, x30 */
#elif defined __x86_64__
#define UNWIND_NR_KEPT 5 /* rbx, r12 to r15 */
#else
#define UNWIND_NR_KEPT 1
#endif

/* The registers that a function preserves for its caller. */
struct unwind_regs {
	uintptr_t pc, sp, fp;
	uintptr_t kept[UNWIND_NR_KEPT];
};

/* Get the registers of the function into which this is inlined.  It is the first frame. */
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

/* ---- readable memory ---- */

/* A stack, [start, end), which is mapped from the stack pointer to END. */
struct unwind_bounds {
	uintptr_t start, end;
};

struct unwind_thread {
	struct unwind_bounds own; /* the stack that the thread was created with */
	/*
	 * Find the stack that contains SP outside of OWN: a coroutine's, or one for signals.  False
	 * if unknown: the walk ends there.  NULL: all such stacks are unknown.
	 */
	bool (*find)(void *arg, uintptr_t sp, struct unwind_bounds *ret);
	/*
	 * True if the word at AT of such a stack can be read.  With this function, the bounds from
	 * FIND may exceed the stack and contain unmapped memory.  NULL: all words within the bounds
	 * can be read.
	 */
	bool (*may_read)(void *arg, uintptr_t at);
	void *arg;
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
	uint32_t node;	  /* set by the caller, for the stack from the outermost frame to here */
	uint32_t how;	  /* how PC, SP and FP were found; UNWIND_ below, the rest is walk.c's */
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
	uint32_t nr_same;	     /* outermost frames that are unchanged, with their nodes */
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

/* Initialise S for at most MAX frames, at least 1. */
void unwind_stack_init(struct unwind_stack *s, uint32_t max);

/* Make the next walk reuse nothing from S. */
void unwind_stack_forget(struct unwind_stack *s);

/* Copy FROM to TO, which has room for all its frames. */
void unwind_stack_copy(struct unwind_stack *to, const struct unwind_stack *from);

/*
 * True if a walk from REGS would find exactly the frames of S; the nodes of S are then valid.  The
 * comparison is that of unwind_walk().
 */
bool unwind_is_same(
	struct unwind_stack *s, const struct unwind_regs *regs, const struct unwind_thread *t);

/*
 * Registers, and words at offsets from SP, by which a stack was found.  With the same values, a
 * walk finds the same frames, except for values of FP on which no frame depends.
 */
#define UNWIND_MAX_WORDS 80
struct unwind_words {
	uint32_t nr; /* a multiple of UNWIND_WORDS_STEP; 0: no stack */
	bool needs_fp;
	uintptr_t pc, sp, fp;
	struct unwind_bounds bounds;
	uint64_t generation;
	uint32_t at[UNWIND_MAX_WORDS]; /* bytes from SP; the innermost frame's come first */
	uint64_t value[UNWIND_MAX_WORDS];
};
#define UNWIND_WORDS_STEP 4

/*
 * Store the words by which S was found in RET, which is zero or was filled before.  The calling
 * thread has just walked S and is still in its innermost frames.  False if S was cut, if it depends
 * on more than words of the stack, or if it depends on too many words.
 */
bool unwind_note_words(const struct unwind_stack *s, struct unwind_words *ret);

/* True if the stack of REGS has WORDS: it is then the stack of these words. */
bool unwind_has_words(const struct unwind_words *words, const struct unwind_regs *regs,
	const struct unwind_thread *t);

/*
 * Walk from REGS outwards.  Afterwards S->frame[S->nr - 1] is the frame of REGS, and S->frame[0]
 * the outermost known frame.  The nodes of the first NR_SAME frames are valid; if NR_SAME is not 0,
 * END is unchanged.  The caller sets the other nodes.
 */
void unwind_walk(
	struct unwind_stack *s, const struct unwind_regs *regs, const struct unwind_thread *t);

#pragma GCC visibility pop

#endif
