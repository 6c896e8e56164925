/* mallocs: determine whether malloc or the program requested memory. */
#ifndef MEMDIAG_TRACE_MALLOCS_H
#define MEMDIAG_TRACE_MALLOCS_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"

/*
 * Return the number of innermost frames of STACK that belong to malloc; its frames must have names.
 * They reach up to the outermost function that allocates or frees memory and is reached without
 * leaving the object that made the call, or the library that replaces malloc.  Returns 0 if the
 * program itself made the call.
 */
uint32_t trace_nr_mallocs(const struct profile *p, uint32_t stack);

/* True if the innermost frame is a libc function that makes the call for any caller. */
bool trace_begins_with_wrapper(const struct profile *p, uint32_t stack);

#endif
