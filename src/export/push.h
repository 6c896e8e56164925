/*
 * push: profiles sent to a server for continuous profiling, by a separate thread: the caller never
 * waits for the network.
 */
#ifndef MEMDIAG_EXPORT_PUSH_H
#define MEMDIAG_EXPORT_PUSH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "export/push-body.h"
#include "profile/profile.h"

struct push;

struct push_sums {
	uint64_t nr_accepted;
	uint64_t nr_retries; /* requests that failed and were repeated */
	uint64_t nr_refused; /* by the server, for good */
	uint64_t nr_dropped; /* for lack of room, or not sent when the command ended */
};

/*
 * Begin to push to SERIES, which is taken over in any case, the allocations from FROM_NS on, since
 * 1970.  HEADERS (lines) and TENANT may be NULL.  Returns 0, or -1 with E; push_free() frees *RET.
 */
int push_begin(struct push **ret, struct push_series *series, const char *headers,
	const char *tenant, uint64_t from_ns, struct err *e);
/* Push P, of all since the beginning, which is taken over, at UNTIL_NS, since 1970. */
void push_add(struct push *push, struct profile *p, uint64_t until_ns);
/*
 * Copy the next message for the user to BUF, without a newline.  A failure that repeats has one
 * message.  Returns false without one.
 */
bool push_message(struct push *push, char *buf, size_t size);
/* Nothing will be added.  push_is_done() is true when nothing is left to be sent. */
void push_close(struct push *push);
bool push_is_done(struct push *push);
/* End, without waiting for the server; what is not sent counts as dropped in *RET, unless NULL. */
void push_free(struct push *push, struct push_sums *ret);

/*
 * Return how long to wait after failure number NR (from 1) in a row: twice as long each time, from
 * 1 s to a minute, less up to half of it by RANDOM, so that many clients do not come at one time.
 */
uint64_t push_delay_ns(uint64_t nr, uint64_t random);

#endif
