/*
 * load-filters: checks that seccomp filters allow the system calls of loading a library.
 */
#ifndef MEMDIAG_INJECT_LOAD_FILTERS_H
#define MEMDIAG_INJECT_LOAD_FILTERS_H

#include "base/err.h"

struct target;

/*
 * Fail with ERR_UNSUPPORTED if a thread of T is under a seccomp filter that would end the process
 * for the system calls of our code.  load_library() calls this itself for a library that is not
 * loaded yet.
 */
int load_refuse_filters(const struct target *t, struct err *e);

#endif
