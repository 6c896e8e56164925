/*
 * push-queue: the profiles that wait to be pushed.  It is bounded: when it is full, the oldest is
 * dropped, and its allocations are part of the next one (push-delta.h).
 */
#ifndef MEMDIAG_EXPORT_PUSH_QUEUE_H
#define MEMDIAG_EXPORT_PUSH_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

#define PUSH_QUEUE_PROFILES 10
#define PUSH_QUEUE_BYTES (UINT64_C(64) << 20)

struct push_item {
	struct profile *p; /* owned; values since the profile began */
	uint64_t until_ns; /* when it was taken, since 1970 */
	uint64_t bytes;	   /* estimate of its memory */
};

/* Zeroed at first. */
struct push_queue {
	struct push_item v[PUSH_QUEUE_PROFILES]; /* the oldest first */
	size_t nr;
	uint64_t bytes;
	bool is_busy; /* the oldest is being sent, and is not dropped */
};

/* Return an estimate of the memory of P. */
uint64_t push_profile_bytes(const struct profile *p);

/*
 * Append ITEM, which is taken over, and drop the oldest ones while the bounds are exceeded; ITEM
 * itself stays, even if it is larger than the bound.  Returns the number of dropped ones.
 */
size_t push_queue_add(struct push_queue *q, struct push_item item);
/* Remove the oldest, and return it; the caller frees its profile.  The queue must not be empty. */
struct push_item push_queue_take(struct push_queue *q);
void push_queue_release(struct push_queue *q);

#endif
