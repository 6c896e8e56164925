/* allocators: the functions that hand out memory, which are left out of a report of callers. */
#ifndef MEMDIAG_PROFILE_ALLOCATORS_H
#define MEMDIAG_PROFILE_ALLOCATORS_H

#include <regex.h>
#include <stdbool.h>

#include "base/err.h"

/* Return whether NAME, demangled and without arguments, is malloc or a related function. */
bool is_allocator(const char *name);
/* Return whether NAME is one of malloc's whole names, which no function of a program has. */
bool is_public_allocator(const char *name);
/* Return whether PATH is a library that replaces malloc, or memdiag's agent. */
bool is_allocator_library(const char *path);
/* Return whether the object at PATH is the Python interpreter or one of its modules. */
bool is_interpreter(const char *path);
/*
 * Return the functions of allocators_have() as a regular expression, for drop_frames of
 * profile.proto.
 */
const char *allocators_regex(void);

/* malloc's functions, and program functions that hand on what malloc returns, such as xmalloc(). */
struct allocators {
	regex_t wrappers;
	bool is_compiled;
};

/* 0, or -1 with E if memory runs out.  A is released in any case. */
int allocators_compile(struct allocators *a, struct err *e);
void allocators_release(struct allocators *a);
/* Return whether NAME, as for is_allocator(), is one of these functions. */
bool allocators_have(const struct allocators *a, const char *name);

/*
 * Return whether NAME is in a language's own library, which allocates for the program's function
 * that calls it, and which may also call one of the program's: of C++, Rust, Ada or cgo.
 */
bool is_library_helper(const char *name);

#endif
