/*
 * memory-priv: what other files of os/ use of memory.c.
 */
#ifndef MEMDIAG_OS_MEMORY_PRIV_H
#define MEMDIAG_OS_MEMORY_PRIV_H

#include <stddef.h>

#include "base/err.h"
#include "base/raddr.h"
#include "os/os.h"

/* ---- memory.c and ptrace.c, for part.c alone ------------------------------------------------- */

/* Write SIZE bytes of ours to T. */
int os_write(const struct target *t, raddr to, const void *from, size_t size, struct err *e);

#endif
