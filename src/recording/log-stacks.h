/*
 * log-stacks: the stacks of a log as those of a profile.
 */
#ifndef MEMDIAG_RECORDING_LOG_STACKS_H
#define MEMDIAG_RECORDING_LOG_STACKS_H

#include "recording/log-priv.h"

/* Members of struct recording_ops. */
int log_begin(struct recording *r, struct profile *p, struct err *e);
int log_sample(struct recording *r, uint32_t site, struct profile *p, struct profile_sample *ret,
	struct err *e);

#endif
