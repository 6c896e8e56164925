/* source: what a walk may read. */
#ifndef MEMDIAG_STACK_SOURCE_H
#define MEMDIAG_STACK_SOURCE_H

#include <stdbool.h>

#include "base/raddr.h"
#include "stack/stack.h"

/*
 * Return whether ADDR is in memory that the process of S writes, as a stack is.  Code that a JIT
 * compiler may write is not a stack, but a stack may be executable.
 */
bool stack_source_changes(const struct stack_source *s, raddr addr);

#endif
