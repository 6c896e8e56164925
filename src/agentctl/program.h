/*
 * program: a program that is to be started with the agent.
 */
#ifndef MEMDIAG_AGENTCTL_PROGRAM_H
#define MEMDIAG_AGENTCTL_PROGRAM_H

#include <stddef.h>

#include "base/err.h"

/*
 * Find the file that NAME is in PATH, as execvp() does, into BUF. 0, or -1 with E: ERR_NOT_FOUND,
 * or ERR_NOT_EXECUTABLE.
 */
int program_find(const char *name, char *buf, size_t size, struct err *e);

/*
 * Find out whether ld.so will load the library AGENT into the program PATH if asked by LD_PRELOAD;
 * it says nothing when it does not. 0, or -1 with E, which says why it will not.
 */
int program_check(const char *path, const char *agent, struct err *e);

#endif
