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

/* A program that ran in a process: one that becomes another has a member for each. */
struct family_member {
	pid_t pid; /* as it has it itself */
	bool is_running;
	char name[20]; /* of the program, as in /proc/PID/comm; untrusted */
	uint64_t started_ns;
	uint64_t nr_refused;
	struct wire_totals sum; /* what a child has from its parent is part of it */
};

struct family {
	struct family_member *v; /* owned; by their peak, the largest first */
	size_t nr, room;
	size_t nr_running;
	uint64_t nr_lost;    /* that are not here: there were too many */
	uint64_t live_bytes; /* of those that run */
	/*
	 * the most that all had together, at most; what children have from their parents counts
	 * once
	 */
	uint64_t peak_bytes;
	uint64_t nr_refused;
	int64_t limit_bytes; /* for all together; INT64_MAX: none */
};

/*
 * Make the file that they share, with a limit for all or INT64_MAX, into *RET_FD. 0, or -1 with E.
 */
int family_make(int *ret_fd, int64_t limit_bytes, struct err *e);
/* Read it. 0, or -1 with E; F is to be released in any case. */
int family_read(struct family *f, int fd, struct err *e);
/*
 * The counters of the program that process PID ran last, into COPY, which has room for all threads.
 */
bool family_segment(int fd, pid_t pid, struct wire_segment *copy);
/* Read that of the process T, O being its objects. 0, also if it is missing, or -1 with E. */
int family_find(struct family *f, const struct target *t, const struct objects *o, struct err *e);
void family_release(struct family *f);
#define auto_family __attribute__((cleanup(family_release)))

#endif
