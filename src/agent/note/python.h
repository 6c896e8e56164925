/*
 * python: the functions of Python that a thread is in, of CPython 3.11 to 3.13.  They are read from
 * the interpreter's own structures, by the thread itself and while it holds the GIL: so nothing of
 * it changes or is freed meanwhile.  No code of Python runs, nothing is locked, no reference is
 * counted.
 */
#ifndef MEMDIAG_AGENT_NOTE_PYTHON_H
#define MEMDIAG_AGENT_NOTE_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/unwind.h"
#include "wire/sites.h"
#include "wire/wire.h"

#pragma GCC visibility push(hidden)

#define PYTHON_MAX_CODES WIRE_MAX_CODES
#define PYTHON_MAX_CALLS 64

/*
 * A call of the interpreter's function _PyEval_EvalFrameDefault(): it runs a function of Python,
 * and those that this one calls, and so on, innermost first.
 */
struct python_call {
	uint32_t native;    /* its frame, as a number of the stack that was walked */
	uint32_t first, nr; /* in code */
	uintptr_t local;    /* in that frame: what the interpreter knows the call by */
};

struct python_frames {
	uint32_t nr_calls, nr_codes;
	struct python_call call[PYTHON_MAX_CALLS]; /* innermost first */
	uintptr_t code[PYTHON_MAX_CODES];	   /* objects of the interpreter */
	uint32_t instruction[PYTHON_MAX_CODES];	   /* of each that runs: python_line() */
	uintptr_t rest; /* what follows the last call; PYTHON_NOT_READ: unknown */
};
#define PYTHON_NOT_READ UINTPTR_MAX

/* The name of a function, as python_text() writes it, and the line where it begins. */
struct python_name {
	uint32_t number; /* its user's; 0: none */
	uint32_t line, len, file_len;
	char text[112]; /* the file, a NUL, the name, and zeroes */
};

/* The same in short, with names that are to be compared: python_is_as_known(). */
#define PYTHON_KNOWN_CALLS 12
#define PYTHON_KNOWN_CODES 24
struct python_known {
	uint32_t nr_calls, nr_codes;
	uintptr_t rest;
	struct {
		uintptr_t local;
		uint32_t nr;
	} call[PYTHON_KNOWN_CALLS];
	struct {
		uintptr_t code;
		const struct python_name *name;
		uint32_t number; /* that NAME had */
		uint32_t instruction, size;
	} code[PYTHON_KNOWN_CODES];
};

/* Look for an interpreter.  Not in a hook, as it may wait for locks of ld.so. */
void python_begin(void);

/* Whether python_begin() has found one. */
extern bool python_is_there;

/*
 * The calls that are in the stack WALKED of the calling thread.  None if the thread does not hold
 * the GIL, if there are too many, or if it is not known how its interpreter has them.
 */
void python_read(const struct unwind_stack *walked, struct python_frames *ret);

/*
 * Make RET what python_read() has read.  NAME: of each code, NULL if it has none.  What cannot be
 * kept is not known: then nothing is the same later.
 */
void python_know(const struct python_frames *read, const struct python_name *const *name,
	struct python_known *ret);

/*
 * Whether python_read() would find the calls that are KNOWN, in the same frames, of functions with
 * the same names.  The native frames of the stack are those of then.  False: it may all the same.
 */
bool python_is_as_known(const struct python_known *known);

/* Room for what python_text() writes: 52 characters of each name at least. */
#define PYTHON_TEXT_BYTES 420

/*
 * The file of CODE, a NUL, and its qualified name, as UTF-8, into TEXT, and the line where it
 * begins; of long names only the end.  Returns the length, 0 if it is no code object any more.
 */
size_t python_text(uintptr_t code, char text[PYTHON_TEXT_BYTES], uint32_t *ret_line);

/*
 * The line of CODE, a code object, that has the instruction INSTRUCTION bytes behind its first one;
 * 0 if none has.
 */
uint32_t python_line(uintptr_t code, uint32_t instruction);

/* The size of CODE: another function at its address has mostly another one. */
uint32_t python_size(uintptr_t code);

/* Whether python_text() would write of CODE what NAME has; quickly.  False: it may all the same. */
bool python_is(uintptr_t code, const struct python_name *name);

#pragma GCC visibility pop

#endif
