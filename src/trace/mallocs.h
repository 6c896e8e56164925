/*
 * mallocs: whether malloc itself asked for memory, or the program.
 */
#ifndef MEMDIAG_TRACE_MALLOCS_H
#define MEMDIAG_TRACE_MALLOCS_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

/*
 * How many frames, from the inner end of STACK on, whose frames have their names, are malloc's: up
 * to the outermost function that hands out or takes back memory and is reached without leaving the
 * object that made the call, or the library that replaces malloc.  0: the program itself made it.
 */
uint32_t trace_nr_mallocs(const struct profile *p, uint32_t stack);

/* Whether the innermost frame is a function of libc that makes the call for anybody. */
bool trace_begins_with_wrapper(const struct profile *p, uint32_t stack);

#endif
