/*
 * write-priv: writing to a target's memory, for other files of os/.
 */
#ifndef MEMDIAG_OS_WRITE_PRIV_H
#define MEMDIAG_OS_WRITE_PRIV_H

#include <stddef.h>

#include "base/err.h"
#include "base/raddr.h"
#include "os/os.h"

/* Write SIZE bytes from our memory to T. */
int os_write(const struct target *t, raddr to, const void *from, size_t size, struct err *e);

#endif
