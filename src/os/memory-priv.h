/*
 * memory-priv: what other files of os/ use of memory.c.
 */
#ifndef MEMDIAG_OS_MEMORY_PRIV_H
#define MEMDIAG_OS_MEMORY_PRIV_H

#include <stddef.h>

#include "base/err.h"
#include "base/raddr.h"
#include "os/os.h"

/* Write SIZE bytes from our memory to T. */
int os_write(const struct target *t, raddr to, const void *from, size_t size, struct err *e);

#endif
