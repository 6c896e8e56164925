/*
 * installed: files that belong to this memdiag.
 */
#ifndef MEMDIAG_OS_INSTALLED_H
#define MEMDIAG_OS_INSTALLED_H

#include <stddef.h>

#include "base/err.h"

/* The agent, and the program of memdiag export. */
#define OS_AGENT_FILE "libmemdiag-agent.so"
#define OS_EXPORT_FILE "memdiag-export"

/*
 * Store the absolute path of the file NAME of this memdiag in BUF.  0, or -1 with E if it is not
 * found.
 */
int os_find_installed(char *buf, size_t size, const char *name, struct err *e);

#endif
