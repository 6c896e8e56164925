/*
 * top: the stacks that hold most of the memory, of a profile that is being taken, for a few lines
 * beside other things.  Only their innermost frames are named, so it takes little time.
 */
#ifndef MEMDIAG_CAPTURE_TOP_H
#define MEMDIAG_CAPTURE_TOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "glibc/process.h"

#define PROFILE_TOP_STACKS 3

struct profile_top_stack {
	char *function; /* owned; the innermost that is no function of malloc's */
	char *caller;	/* owned; NULL: it has none, or none that is known */
	int64_t bytes;	/* in use: an estimate */
	int64_t blocks;
	uint64_t nr_samples; /* in use, which the estimate is made of */
};

/* All numbers are of what was allocated since the profile began. */
struct profile_top {
	bool is_sampling; /* false: the process is not being profiled, and nothing else is filled */
	uint64_t started_ns;				    /* CLOCK_REALTIME */
	uint64_t period_bytes;				    /* one sample for so many bytes */
	uint64_t nr_samples;				    /* so far */
	int64_t bytes;					    /* in use, of all stacks */
	uint64_t nr_live;				    /* samples in use */
	struct profile_top_stack stack[PROFILE_TOP_STACKS]; /* the largest first */
	uint32_t nr_stacks;
};

/*
 * Read those of P into T, which need not be initialised.  Nothing is stopped.  0, also if it is not
 * being profiled, or -1 with E and T released.
 */
int profile_top_read(struct profile_top *t, const struct process *p, struct err *e);
/* Free what T owns.  Safe on a zeroed one. */
void profile_top_release(struct profile_top *t);

/* Which part of all that is in use STACK has; 0 if nothing is. */
double profile_top_share(const struct profile_top *t, const struct profile_top_stack *stack);

#endif
