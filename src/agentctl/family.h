/*
 * family: the processes of one `memdiag run --follow-children`.
 */
#ifndef MEMDIAG_AGENTCTL_FAMILY_H
#define MEMDIAG_AGENTCTL_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "wire/totals.h"
#include "wire/wire.h"

struct objects;
struct target;

/* A program that ran in a process: a process that executes another one has a member for each. */
struct family_member {
	pid_t pid; /* in its own namespace */
	bool is_running;
	char name[20]; /* of the program, as in /proc/PID/comm; untrusted */
	uint64_t started_ns;
	uint64_t nr_refused;
	struct wire_totals sum; /* includes the blocks that a child inherited from its parent */
};

struct family {
	struct family_member *v; /* owned; sorted by peak, the largest first */
	size_t nr, room;
	size_t nr_running;
	uint64_t nr_lost;    /* missing from this list: they were too many */
	uint64_t live_bytes; /* of the running ones */
	/* upper bound of what all had together; blocks inherited from parents count once */
	uint64_t peak_bytes;
	uint64_t nr_refused;
	int64_t limit_bytes; /* for all together; INT64_MAX: unlimited */
};

/*
 * Make the file that they share, with a limit for all or INT64_MAX; *RET_FD is its descriptor.  0,
 * or -1 with E.
 */
int family_make(int *ret_fd, int64_t limit_bytes, struct err *e);
/* Read the family from FD.  0, or -1 with E; F must be released in any case. */
int family_read(struct family *f, int fd, struct err *e);
/* Copy the counters of the last program of process PID to COPY, which has room for all threads. */
bool family_segment(int fd, pid_t pid, struct wire_segment *copy);
/*
 * Read the family of the process T, whose objects are O.  0, also if it has no family, or -1 with
 * E.
 */
int family_find(struct family *f, const struct target *t, const struct objects *o, struct err *e);
void family_release(struct family *f);
#define auto_family __attribute__((cleanup(family_release)))

#endif
