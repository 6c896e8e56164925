/* stack: the stack of the current hook's caller, as a node of the tree of stacks. */
#ifndef MEMDIAG_AGENT_NOTE_STACK_H
#define MEMDIAG_AGENT_NOTE_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/note/bounds.h"
#include "agent/note/python-calls.h"
#include "agent/note/python.h"
#include "unwind/cache.h"
#include "unwind/unwind.h"
#include "unwind/walk.h"
#include "unwind/way.h"
#include "wire/sites.h"

#pragma GCC visibility push(hidden)

#define STACK_NR_LINES 2048   /* of an interpreter's functions */
#define STACK_RECENT_WORDS 48 /* of a recent stack's calls */

/*
 * A stack as the rest of the agent knows it.  The hash covers all frames and calls, and the set of
 * loaded objects; two of a million stacks have the same one by a chance below 1 in 10^7.
 */
struct stack_result {
	uint64_t hash;
	uint32_t node; /* UINT32_MAX: no room was left */
	uint32_t site; /* set by the user; 0: not set */
};
#define STACK_FEW_RESULTS 256
#define STACK_NR_RESULTS 4096

/*
 * One of the last stacks, which are compared as a whole with the present one: programs return to a
 * few stacks again and again.
 */
#define STACK_RECENT_FRAMES (UNWIND_MAX_WORDS / 2)
struct stack_recent {
	struct stack_result result;
	uint32_t next; /* index of the one that followed it last time */
	uint32_t nr_words, word[STACK_RECENT_WORDS]; /* of its calls: python_calls_words() */
	struct unwind_words words; /* words of FRAMES; empty if the frames are compared */
	/* struct unwind_stack of STACK_RECENT_FRAMES */
	_Alignas(8) unsigned char frames[sizeof(struct unwind_stack) +
		STACK_RECENT_FRAMES * sizeof(struct unwind_frame)];
	struct python_known known; /* the calls that are in its words */
};
#define STACK_RECENT_WAYS 4 /* the stack pointer determines four of them */
#define STACK_NR_RECENT (8 * STACK_RECENT_WAYS)

/* Data of one thread without which stacks are only found more slowly. */
struct stack_more {
	struct stack_recent recent[STACK_NR_RECENT];
	struct stack_result result[STACK_NR_RESULTS];
	struct python_calls_line line[STACK_NR_LINES];
};

/* Only a stack that is found again among this many is kept, since that takes time. */
#define STACK_NR_SEEN 128

/*
 * If less than half of the stacks are recent ones, as in a compiler, searching for them costs more
 * than it saves.  The search is then suspended for some time, each time twice as long.
 */
#define STACK_CREDIT 256
#define STACK_MOST_CREDIT 4096
#define STACK_NR_UNSOUGHT 8192
#define STACK_MOST_UNSOUGHT (8 * STACK_NR_UNSOUGHT)

/* Ways out of the agent, from stack_find() to the callers of hooks: one for each kind of hook. */
#define STACK_NR_WAYS 8

/* The last stacks of a thread, which the next one usually resembles; initially zero. */
struct last_stacks {
	uintptr_t thread;	    /* thread pointer of the thread */
	struct bounds own;	    /* bounds of its own stack */
	char text[512];		    /* scratch space */
	uint32_t last_way, nr_ways; /* number of the last way, and of ways so far */
	struct unwind_way way[STACK_NR_WAYS];
	uint32_t last;		      /* index of the last stack; STACK_NR_RECENT if not recent */
	uint32_t nr_recent;	      /* number of recent stacks so far */
	uint32_t credit;	      /* found stacks minus others; at 0 the search stops */
	uint32_t nr_unsought;	      /* while suspended: number of stacks left to skip */
	uint32_t next_unsought;	      /* its next beginning */
	uint32_t seen[STACK_NR_SEEN]; /* nodes found lately, kept or not */
	uintptr_t recent_sp[STACK_NR_RECENT]; /* SP of each recent stack; 0: no stack */
	struct python_calls calls;
	struct stack_recent *recent; /* NULL: recent stacks are not kept */
	uint64_t seed;		     /* hash of no frame; each stack_init() takes a new one */
	struct stack_result other;   /* of a stack that is not in RESULT */
	struct stack_result *result; /* NR_RESULTS stacks by their hashes */
	uint32_t nr_results;
	struct stack_result few[STACK_FEW_RESULTS];
	/* The last stack that was not a recent one, and its calls. */
	uint32_t nr_words, word[PYTHON_CALLS_WORDS];
	struct unwind_stack frames; /* its memory continues after this struct: STACK_BYTES in all */
};
#define STACK_BYTES (sizeof(struct last_stacks) + 2 * WIRE_MAX_FRAMES * sizeof(struct unwind_frame))

/*
 * Set the images of a program without a dynamic linker: the program's mapping, and the ELF header
 * of the vDSO (NULL: no vDSO).  Call this before stack_begin().  In other programs it has no
 * effect.
 */
void stack_set_images(const struct unwind_image *program, const void *vdso);

/*
 * Get ready.  Do not call this in a hook, as it may wait for locks of ld.so.  False if no memory is
 * available; stacks then have no frames.
 */
bool stack_begin(void);

/* The vDSO's ELF header after stack_begin(); NULL: no vDSO. */
const void *stack_vdso(void);

/*
 * Initialise S before the first call of stack_find(), and again when its nodes and sites are no
 * longer valid.  MORE: memory that only S uses, or NULL.
 */
void stack_init(struct last_stacks *s, struct stack_more *more);

/* The caller's stack, without the agent's own frames; valid until the next call. */
struct stack_result *stack_find(struct last_stacks *s);
/* The frames of the last result of stack_find(), valid until its next call. */
const struct unwind_stack *stack_frames(const struct last_stacks *s);

#pragma GCC visibility pop

#endif
