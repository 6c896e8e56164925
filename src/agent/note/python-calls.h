/*
 * python-calls: the calls of an interpreter on the stack of a thread, as nodes of the tree of
 * stacks, and as words by which a change is noticed.  Names and lines that were found before are
 * kept.
 */
#ifndef MEMDIAG_AGENT_NOTE_PYTHON_CALLS_H
#define MEMDIAG_AGENT_NOTE_PYTHON_CALLS_H

#include <stdint.h>

#include "agent/base/compiler.h"
#include "agent/note/python.h"
#include "unwind/unwind.h"

#pragma GCC visibility push(hidden)

/* Names of functions: in sets, by the address of their code. */
#define PYTHON_CALLS_WAYS 2
#define PYTHON_CALLS_FUNCTIONS (128 * PYTHON_CALLS_WAYS)

/*
 * Lines that were found before.  A new function at the address of a freed one with the same name,
 * first line and size is not distinguished from it.
 */
struct python_calls_line {
	uintptr_t code;
	uint32_t number;	    /* number of its function; 0: no entry */
	uint32_t instruction, size; /* python_line(), python_size() */
	uint32_t place;		    /* number of the function with that line: WIRE_LABEL_CODE */
};
#define PYTHON_CALLS_FEW_LINES 64
/* Whole words. */
#define PYTHON_CALLS_TEXT_BYTES ((PYTHON_TEXT_BYTES + 7) / 8 * 8)

/*
 * The calls of a stack as words, the outermost call first: the number of its native frame, the
 * number of its functions, and their numbers, the outermost first.  If they do not fit, only the
 * frame of the outermost call and PYTHON_CALLS_MANY.
 */
#define PYTHON_CALLS_WORDS 512
#define PYTHON_CALLS_MANY UINT32_MAX

struct python_calls {
	/*
	 * The present calls.  After python_calls_read() the numbers of their functions are in place
	 * of the codes: WIRE_LABEL_CODE, 0 without a name, UINT32_MAX without room.
	 */
	struct python_frames now;
	uint32_t nr_functions; /* number of functions so far */
	struct python_name function[PYTHON_CALLS_FUNCTIONS];
	struct python_calls_line *line; /* NR_LINES, by code and instruction */
	uint32_t nr_lines;
	struct python_calls_line few_lines[PYTHON_CALLS_FEW_LINES];
	char *text; /* scratch space of PYTHON_CALLS_TEXT_BYTES */
};

/*
 * Forget all names and lines, whose numbers are no longer valid.  TEXT: scratch space that C keeps;
 * LINE: room for NR lines, or NULL.
 */
void python_calls_init(
	struct python_calls *c, char *text, struct python_calls_line *line, uint32_t nr_lines);

/* For the inline functions below. */
void python_calls_read_now(struct python_calls *c, const struct unwind_stack *walked);
uint32_t python_calls_compare(const struct python_calls *c, const uint32_t *was, uint32_t nr);
uint32_t python_calls_put(const struct python_calls *c, uint32_t *to);

/* Read the present calls, whose native frames are those of WALKED. */
static inline void
python_calls_read(struct python_calls *c, const struct unwind_stack *walked)
{
	if (UNLIKELY(python_is_there))
		python_calls_read_now(c, walked);
}

/*
 * The native frame of the first call, from the outside, that differs between the present ones and
 * the NR words WAS; UINT32_MAX if all are equal.  An interpreter can switch to another function
 * without a change of its native frames.
 */
static inline uint32_t
python_calls_first_change(const struct python_calls *c, const uint32_t *was, uint32_t nr)
{
	return LIKELY(!python_is_there) ? UINT32_MAX : python_calls_compare(c, was, nr);
}

/* Write the words of the present calls to TO, at most PYTHON_CALLS_WORDS.  Returns their number. */
static inline uint32_t
python_calls_words(const struct python_calls *c, uint32_t *to)
{
	return LIKELY(!python_is_there) ? 0 : python_calls_put(c, to);
}

/*
 * Add the functions of CALL, one of the present calls, below NODE, beginning with the outermost.
 * Returns the last node; UINT32_MAX: no room.
 */
uint32_t python_calls_node(
	const struct python_calls *c, const struct python_call *call, uint32_t node);

/* Store the known form of the present calls, of the stack WALKED, in RET: python_is_as_known(). */
void python_calls_know(
	struct python_calls *c, const struct unwind_stack *walked, struct python_known *ret);

#pragma GCC visibility pop

#endif
