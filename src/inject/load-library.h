/*
 * load-library: our library, loaded by the target's ld.so.
 */
#ifndef MEMDIAG_INJECT_LOAD_LIBRARY_H
#define MEMDIAG_INJECT_LOAD_LIBRARY_H

#include "base/err.h"
#include "glibc/arenas.h"
#include "inject/load.h"
#include "inject/malloc.h"
#include "inject/target.h"

/*
 * Have the target load the shared library PATH by its own dlopen(), and keep it for ever; if the
 * target cannot see or read that file, it loads a copy in memory.  A library is identified by its
 * build-id: one that is loaded already is not loaded again.  The number of A, the target's arenas,
 * does not change.  On failure E has the target's own dlerror(), and nothing is left in the target.
 * Fails with ERR_UNSUPPORTED if the library has no build-id, or if a thread of the target is under
 * a seccomp filter that may not allow the system calls of dlopen().
 */
int load_library(struct inject_target *callee, const struct arenas *a,
	const struct inject_options *opt, const char *path, struct loaded_library *ret,
	struct inject_report *report, struct err *e);

#endif
