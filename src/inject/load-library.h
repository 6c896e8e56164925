/*
 * load-library: a library of ours, opened by the target's ld.so.
 */
#ifndef MEMDIAG_INJECT_LOAD_LIBRARY_H
#define MEMDIAG_INJECT_LOAD_LIBRARY_H

#include "base/err.h"
#include "glibc/arenas.h"
#include "inject/load.h"
#include "inject/malloc.h"
#include "inject/target.h"

/*
 * Have the target load the shared library PATH as its own dlopen() does, and keep it for ever;
 * where the target cannot see or read that file, from a copy of it in memory.  A library is known
 * by its build-id: one that is there already is not loaded again.  The number of A, the target's
 * arenas, stays what it is.  On failure E has the target's own dlerror(), and nothing stays behind.
 * ERR_UNSUPPORTED: a library without a build-id; a target of which a thread is under a seccomp
 * filter, which may not know the system calls of dlopen().
 */
int load_library(struct inject_target *callee, const struct arenas *a,
	const struct inject_options *opt, const char *path, struct loaded_library *ret,
	struct inject_report *report, struct err *e);

#endif
