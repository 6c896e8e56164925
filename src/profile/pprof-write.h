/*
 * pprof-write: a profile, written as pprof's profile.proto.
 */
#ifndef MEMDIAG_PROFILE_PPROF_WRITE_H
#define MEMDIAG_PROFILE_PPROF_WRITE_H

#include <stdio.h>

#include "base/err.h"
#include "profile/profile.h"

/*
 * Write P as pprof's profile.proto, compressed by gzip, under the same conditions; negative values
 * are differences there.
 */
int pprof_write(const struct profile *p, FILE *f, struct err *e);

#endif
