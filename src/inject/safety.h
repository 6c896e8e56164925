/*
 * safety: proves that a thread may make a call where it was stopped.
 */
#ifndef MEMDIAG_INJECT_SAFETY_H
#define MEMDIAG_INJECT_SAFETY_H

#include <stdbool.h>
#include <sys/types.h>

struct inject_target;

/*
 * Return whether thread TID, which stop_threads() has stopped, is in the middle of a call of malloc
 * or a related function; true if unknown.
 */
bool inject_is_in_malloc(const struct inject_target *callee, pid_t tid);

#endif
