/* program: checks a program that will be started with the agent. */
#ifndef MEMDIAG_AGENTCTL_PROGRAM_H
#define MEMDIAG_AGENTCTL_PROGRAM_H

#include <stddef.h>

#include "base/err.h"

/*
 * Find the file of NAME in PATH, as execvp() does, and store its name in BUF.  0, or -1 with E:
 * ERR_NOT_FOUND, or ERR_NOT_EXECUTABLE.
 */
int program_find(const char *name, char *buf, size_t size, struct err *e);

/*
 * Determine whether ld.so will load the library AGENT into the program PATH for LD_PRELOAD; ld.so
 * prints nothing if it does not.  0, or -1 with E, which contains the reason.
 */
int program_check(const char *path, const char *agent, struct err *e);

#endif
