/*
 * top: the stacks that hold most of the memory, of a profile that is being taken, for a few lines
 * in other output.  Only their innermost frames are named, so it takes little time.
 */
#ifndef MEMDIAG_CAPTURE_TOP_H
#define MEMDIAG_CAPTURE_TOP_H

#include <stdbool.h>
#include <stdint.h>

#include "agentdata/live-names.h"
#include "base/err.h"
#include "glibc/process.h"

struct profile_top_stack {
	char *function; /* owned; the innermost that is not malloc's */
	char *caller;	/* owned; NULL if it does not exist, or is unknown */
	int64_t bytes;	/* in use, estimated */
	int64_t blocks;
	uint64_t nr_samples; /* in use, from which the estimate is made */
};

/* All numbers include only blocks allocated since the profile began. */
struct profile_top {
	bool is_sampling;      /* false: the process is not being profiled, and the rest is unset */
	uint64_t started_ns;   /* CLOCK_REALTIME */
	uint64_t period_bytes; /* the bytes for one sample */
	uint64_t nr_samples;   /* so far */
	int64_t bytes;	       /* in use, of all stacks */
	uint64_t nr_live;      /* samples in use */
	struct profile_top_stack *stack; /* owned; the largest first */
	uint32_t nr_stacks;
};

/*
 * Read the MAX largest stacks of P into T, which need not be initialised.  NAMES saves work if P is
 * read repeatedly; it may be NULL.  Nothing is stopped.  0, also if P is not being profiled, or -1
 * with E and T released.
 */
int profile_top_read(struct profile_top *t, const struct process *p, uint32_t max,
	struct live_names *names, struct err *e);
/* Free what T owns.  Safe on a zeroed T. */
void profile_top_release(struct profile_top *t);
#define auto_profile_top __attribute__((cleanup(profile_top_release)))

/* Return STACK's share of all memory in use; 0 if nothing is in use. */
double profile_top_share(const struct profile_top *t, const struct profile_top_stack *stack);

#endif
