/*
 * pprof-read: pprof's profile.proto.
 */
#ifndef MEMDIAG_PROFILE_PPROF_READ_H
#define MEMDIAG_PROFILE_PPROF_READ_H

#include <stddef.h>

#include "base/err.h"
#include "profile/profile.h"

int pprof_parse(struct profile *p, const char *name, const char *data, size_t len, struct err *e);

#endif
