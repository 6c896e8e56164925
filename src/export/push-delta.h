/* push-delta: a profile as a server for continuous profiling expects it. */
#ifndef MEMDIAG_EXPORT_PUSH_DELTA_H
#define MEMDIAG_EXPORT_PUSH_DELTA_H

#include "profile/profile.h"

/*
 * Make a profile of NOW with the usual types alone: alloc_objects and alloc_space are less those of
 * BASE, an earlier profile of the same process (NULL: nothing was pushed yet), and inuse_objects
 * and inuse_space are those of NOW.  Samples without any of these values are left out.  The caller
 * frees *RET.  Returns 0, or -1 with E if memory runs out.
 */
int push_delta(
	struct profile **ret, const struct profile *now, const struct profile *base, struct err *e);

#endif
