/*
 * find: jemalloc in a process: its functions and its version.
 */
#ifndef MEMDIAG_JEMALLOC_FIND_H
#define MEMDIAG_JEMALLOC_FIND_H

#include "base/err.h"
#include "jemalloc/jemalloc.h"

struct process;

/* Which malloc is meant, where a process has two. */
enum malloc_choice {
	MALLOC_AUTO, /* jemalloc, if it is there */
	MALLOC_GLIBC,
	MALLOC_JEMALLOC,
};

/*
 * Find the jemalloc of P that CHOICE means: a library that serves malloc and exports mallctl(),
 * with or without a prefix; or one that is linked into the program, which was not stripped of its
 * symbols, whether or not it serves malloc.  J must outlive every inject_target that is made with
 * it.  1, 0 if glibc's malloc or another is meant, or -1 with E (ERR_UNSUPPORTED) if there is no
 * jemalloc though CHOICE wants it.
 */
int jemalloc_find(
	struct jemalloc *j, const struct process *p, enum malloc_choice choice, struct err *e);

#endif
