/*
 * core-priv: what other files of os/ use of core.c.
 */
#ifndef MEMDIAG_OS_CORE_PRIV_H
#define MEMDIAG_OS_CORE_PRIV_H

#include "os/os-priv.h"

void core_free(struct core *c);

#endif
