/*
 * stacks-others: stacks that pthread_create() has not made.
 */
#ifndef MEMDIAG_MAPS_STACKS_OTHERS_H
#define MEMDIAG_MAPS_STACKS_OTHERS_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "elf/regions.h"
#include "maps/stacks.h"

struct target;

/*
 * Add the stacks of those of the NR threads TID that musl made, and guess those of the others from
 * their stack pointers.
 */
int thread_stacks_add_others(struct thread_stacks *stacks, const struct target *t,
	const struct regions *m, const pid_t *tid, size_t nr, struct err *e);

#endif
