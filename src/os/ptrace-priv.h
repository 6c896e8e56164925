/*
 * ptrace-priv: what other files of os/ use of ptrace.c.
 */
#ifndef MEMDIAG_OS_PTRACE_PRIV_H
#define MEMDIAG_OS_PTRACE_PRIV_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/raddr.h"

/* Write SIZE bytes to memory of stopped thread TID, in units of eight bytes. */
int os_poke(pid_t tid, raddr to, const void *from, size_t size, struct err *e);

#endif
