/* heaptrack-names: the stacks of a heaptrack recording as those of a profile. */
#ifndef MEMDIAG_RECORDING_HEAPTRACK_NAMES_H
#define MEMDIAG_RECORDING_HEAPTRACK_NAMES_H

#include "profile/profile.h"
#include "recording/recording.h"

/* Members of struct recording_ops. */
int ht_begin(struct recording *r, struct profile *p, struct err *e);
int ht_sample(struct recording *r, uint32_t site, struct profile *p, struct profile_sample *ret,
	struct err *e);

#endif
