/*
 * load-filters: whether seccomp filters allow what loading a library takes.
 */
#ifndef MEMDIAG_INJECT_LOAD_FILTERS_H
#define MEMDIAG_INJECT_LOAD_FILTERS_H

#include "base/err.h"

struct target;

/*
 * ERR_UNSUPPORTED when a thread of T is under a seccomp filter that would end the process for the
 * system calls of code of ours. load_library() asks it itself, of a library that is not there yet.
 */
int load_refuse_filters(const struct target *t, struct err *e);

#endif
