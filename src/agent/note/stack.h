/*
 * stack: who called the hook that is under way, as a node of the tree of stacks.
 */
#ifndef MEMDIAG_AGENT_NOTE_STACK_H
#define MEMDIAG_AGENT_NOTE_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/note/bounds.h"
#include "agent/note/python.h"
#include "unwind/unwind.h"
#include "wire/sites.h"
#include "wire/wire.h"

#pragma GCC visibility push(hidden)

/* Names of functions of an interpreter that were met: in sets, by the address of their code. */
#define STACK_FUNCTIONS_WAYS 2
#define STACK_FUNCTIONS (128 * STACK_FUNCTIONS_WAYS)

/*
 * Lines that were looked up.  A new function at the address of a freed one with the same name,
 * first line and size is not distinguished from it.
 */
struct stack_line {
	uintptr_t code;
	uint32_t number;	    /* of its function; 0: none */
	uint32_t instruction, size; /* python_line(), python_size() */
	uint32_t place;		    /* the function with that line: WIRE_LABEL_CODE */
};
#define STACK_LINES 256

/*
 * The calls of an interpreter that are in a stack, the outermost first, in words: of each the
 * number of its native frame, how many functions it runs, and their numbers, the outermost first.
 * If they are too many there is only the frame of the outermost one, and STACK_MANY.
 */
#define STACK_CALLS 512
#define STACK_RECENT_CALLS 48
#define STACK_MANY UINT32_MAX

/*
 * One of the last stacks, which are compared as a whole with the one that is asked for: programs
 * come back to few of them again and again.
 */
#define STACK_RECENT_FRAMES (UNWIND_MAX_WORDS / 2)
struct stack_recent {
	uint32_t next; /* which one followed it the last time */
	uint32_t node;
	uint32_t nr_calls;
	uint32_t calls[STACK_RECENT_CALLS];
	struct unwind_words words; /* of FRAMES; none, if they are compared themselves */
	/* struct unwind_stack of STACK_RECENT_FRAMES */
	_Alignas(8) unsigned char frames[sizeof(struct unwind_stack) +
		STACK_RECENT_FRAMES * sizeof(struct unwind_frame)];
	struct python_known known; /* of these calls */
};
#define STACK_RECENT_WAYS 4 /* of them the stack pointer determines four */
#define STACK_NR_RECENT (8 * STACK_RECENT_WAYS)
#define STACK_RECENT_BYTES (STACK_NR_RECENT * sizeof(struct stack_recent))

/* Only what comes again within so many becomes one, as to keep a stack takes time. */
#define STACK_NR_SEEN 128

/*
 * Where less than half of the stacks are recent ones, as in a compiler, it is quicker not to look
 * for them: then they are looked for again after some time.
 */
#define STACK_CREDIT 256
#define STACK_MOST_CREDIT 4096
#define STACK_NR_UNSOUGHT 8192

/* The last stacks of a thread, which the next one is mostly like; zero at first. */
struct last_stacks {
	uintptr_t thread;     /* the thread pointer of the thread that */
	struct bounds own;    /* this is the stack of */
	char text[512];	      /* to work with */
	uint32_t last;	      /* the recent stack that was the last one; STACK_NR_RECENT: none */
	uint32_t nr_recent;   /* so far */
	uint32_t credit;      /* recent ones of late, less the others; at 0 none are looked for */
	uint32_t nr_unsought; /* then: how many more are not looked for */
	uint32_t seen[STACK_NR_SEEN];	      /* nodes of late that may be of none of them */
	uint32_t nr_functions;		      /* so far */
	uintptr_t recent_sp[STACK_NR_RECENT]; /* of each; 0: none */
	struct python_frames python;
	struct python_name function[STACK_FUNCTIONS];
	struct stack_line line[STACK_LINES];
	struct stack_recent *recent; /* NULL: none are kept */
	/* The last one that was none of these, and its calls. */
	uint32_t nr_calls, calls[STACK_CALLS];
	struct unwind_stack frames; /* the memory goes on behind it: STACK_BYTES in all */
};
#define STACK_BYTES (sizeof(struct last_stacks) + 2 * WIRE_MAX_FRAMES * sizeof(struct unwind_frame))

/*
 * In a program without a dynamic linker: where the program is mapped, and the ELF header of the
 * vDSO (NULL: none).  To be called before stack_begin(); of no consequence elsewhere.
 */
void stack_set_images(const struct unwind_image *program, const void *vdso);

/*
 * Get ready.  Not in a hook, as it may wait for locks of ld.so.  False: there is no memory, and
 * stacks have no frames.
 */
bool stack_begin(void);

/* The vDSO's ELF header; NULL: none.  After stack_begin(). */
const void *stack_vdso(void);

/*
 * Once, before the first node is asked for; and when the nodes that it knows are no more.  RECENT:
 * STACK_RECENT_BYTES of memory for S alone, or NULL.
 */
void stack_init(struct last_stacks *s, struct stack_recent *recent);

/* The node of the caller's stack, without the agent's own frames; UINT32_MAX: no room. */
uint32_t stack_node(struct last_stacks *s);
/* The frames of the stack that stack_node() has found last, as long as no other is asked for. */
const struct unwind_stack *stack_frames(const struct last_stacks *s);

#pragma GCC visibility pop

#endif
