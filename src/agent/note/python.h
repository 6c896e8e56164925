/*
 * python: the Python functions that a thread is executing, for CPython 3.11 to 3.13.  The thread
 * itself reads them from the interpreter's structures while it holds the GIL, so these are not
 * changed or freed meanwhile.  This runs no Python code, takes no lock and changes no reference
 * count.
 */
#ifndef MEMDIAG_AGENT_NOTE_PYTHON_H
#define MEMDIAG_AGENT_NOTE_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/unwind.h"
#include "wire/sites.h"

#pragma GCC visibility push(hidden)

#define PYTHON_MAX_CODES WIRE_MAX_CODES
#define PYTHON_MAX_CALLS 64

/*
 * A call of the interpreter's function _PyEval_EvalFrameDefault().  It executes a Python function,
 * the functions that this one calls, and so on; they are listed innermost first.
 */
struct python_call {
	uint32_t native;    /* index of its frame in the stack that was walked */
	uint32_t first, nr; /* index and number of its functions in code */
	uintptr_t local;    /* address in that frame by which the interpreter knows the call */
};

struct python_frames {
	uint32_t nr_calls, nr_codes;
	struct python_call call[PYTHON_MAX_CALLS]; /* innermost first */
	uintptr_t code[PYTHON_MAX_CODES];	   /* objects of the interpreter */
	uint32_t instruction[PYTHON_MAX_CODES];	   /* of each function: argument of python_line() */
	uintptr_t rest; /* frame after the last call; PYTHON_NOT_READ: unknown */
};
#define PYTHON_NOT_READ UINTPTR_MAX

/* The name of a function in the format of python_text(), and the line where it begins. */
struct python_name {
	uint32_t number; /* number that the user has given it; 0: no number */
	uint32_t line, len, file_len;
	char text[112]; /* the file, a NUL, the name, and zeroes */
};

/* A compact form of the calls, with names to compare: python_is_as_known(). */
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
		uint32_t number; /* number of NAME */
		uint32_t instruction, size;
	} code[PYTHON_KNOWN_CODES];
};

/* Search for an interpreter.  Do not call this in a hook, as it may wait for locks of ld.so. */
void python_begin(void);

/* True if python_begin() has found an interpreter. */
extern bool python_is_there;

/*
 * Get the calls in the stack WALKED of the calling thread.  No calls are returned if the thread
 * does not hold the GIL, if it has too many, or if the interpreter's structures are not as
 * expected.
 */
void python_read(const struct unwind_stack *walked, struct python_frames *ret);

/*
 * Make RET the known form of the result READ of python_read().  NAME has the name of each code, or
 * NULL.  If READ does not fit, later comparisons with RET return false.
 */
void python_know(const struct python_frames *read, const struct python_name *const *name,
	struct python_known *ret);

/*
 * True if python_read() would find the calls of KNOWN, in the same frames, and of functions with
 * the same names.  The native frames of the stack must be unchanged.  False may also be returned if
 * nothing has changed.
 */
bool python_is_as_known(const struct python_known *known);

/* Size of the buffer for python_text(): at least 52 characters of each name fit. */
#define PYTHON_TEXT_BYTES 420

/*
 * Write the file of CODE, a NUL, and its qualified name, as UTF-8, to TEXT, and get the line where
 * it begins.  Long names lose their beginning.  Returns the length, or 0 if CODE is no longer a
 * code object.
 */
size_t python_text(uintptr_t code, char text[PYTHON_TEXT_BYTES], uint32_t *ret_line);

/*
 * The line of the instruction that is INSTRUCTION bytes from the first one of CODE, a code object;
 * 0 if unknown.
 */
uint32_t python_line(uintptr_t code, uint32_t instruction);

/* The size of CODE.  Another function at the same address usually has another size. */
uint32_t python_size(uintptr_t code);

/*
 * Compare quickly: true if python_text() would write NAME for CODE.  False may also be returned for
 * an equal name.
 */
bool python_is(uintptr_t code, const struct python_name *name);

#pragma GCC visibility pop

#endif
