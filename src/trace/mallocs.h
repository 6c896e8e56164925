/*
 * mallocs: whether malloc itself asked for memory, or the program.
 */
#ifndef MEMDIAG_TRACE_MALLOCS_H
#define MEMDIAG_TRACE_MALLOCS_H

#include <stdbool.h>
#include <stdint.h>

#include "report/profile.h"

/*
 * Whether the call at the inner end of STACK, whose frames have their names, was made by malloc or
 * a related function, or within a library that replaces it: they are the first that is reached from
 * there without leaving the object that made the call.
 */
bool trace_is_mallocs(const struct profile *p, uint32_t stack);

#endif
