/*
 * core-memory: the memory in a core file.
 */
#ifndef MEMDIAG_OS_CORE_MEMORY_H
#define MEMDIAG_OS_CORE_MEMORY_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/raddr.h"
#include "os/os-priv.h"

struct os_page_run;

ssize_t core_read_some(const struct core *c, raddr from, void *to, size_t size, struct err *e);
int core_pages_walk(const struct core *c, raddr start, raddr end,
	int (*fn)(const struct os_page_run *run, void *arg), void *arg, struct err *e);

#endif
