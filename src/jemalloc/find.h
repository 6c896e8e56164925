/*
 * find: jemalloc in a process: its functions and its version.
 */
#ifndef MEMDIAG_JEMALLOC_FIND_H
#define MEMDIAG_JEMALLOC_FIND_H

#include "base/err.h"
#include "jemalloc/jemalloc.h"

struct process;

/* The malloc to examine in a process that has two. */
enum malloc_choice {
	MALLOC_AUTO, /* jemalloc, if present */
	MALLOC_GLIBC,
	MALLOC_JEMALLOC,
};

/*
 * Find the jemalloc of P that CHOICE selects: a library that serves malloc and exports mallctl(),
 * with or without a prefix; or one linked into the program, whose symbols must not be stripped,
 * whether or not it serves malloc.  J must outlive every inject_target made with it.  Returns 1; 0
 * if glibc's malloc or another one is selected; or -1 with E (ERR_UNSUPPORTED) if CHOICE requires
 * jemalloc and it is missing.
 */
int jemalloc_find(
	struct jemalloc *j, const struct process *p, enum malloc_choice choice, struct err *e);

#endif
