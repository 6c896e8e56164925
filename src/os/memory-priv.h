/*
 * memory-priv: what other files of os/ use of memory.c.
 */
#ifndef MEMDIAG_OS_MEMORY_PRIV_H
#define MEMDIAG_OS_MEMORY_PRIV_H

#include "base/err.h"
#include "os/os.h"

/* Return -1, with the error that T has executed another program. */
int memory_refuse_other_program(const struct target *t, struct err *e);

#endif
