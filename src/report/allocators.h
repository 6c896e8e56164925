/*
 * allocators: the functions that hand out memory, which a report of who asked for it leaves out.
 */
#ifndef MEMDIAG_REPORT_ALLOCATORS_H
#define MEMDIAG_REPORT_ALLOCATORS_H

#include <stdbool.h>

/* Whether NAME, demangled and without arguments, is malloc or a related function. */
bool is_allocator(const char *name);
/* Whether PATH is a library that replaces malloc, or memdiag's agent. */
bool is_allocator_library(const char *path);
/* The functions as a regular expression, for drop_frames of profile.proto. */
const char *allocators_regex(void);

#endif
