/*
 * perf-open: the events of perf on every CPU, and the CPUs.
 */
#ifndef MEMDIAG_OS_PERF_OPEN_H
#define MEMDIAG_OS_PERF_OPEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "os/perf-priv.h"
#include "os/perf.h"

struct perf_cpus {
	int *v; /* owned by the caller */
	size_t nr, room;
};

/* Add the numbers of a list as "0-3,6"; what is no such list ends it.  -1: no memory. */
int perf_cpus_parse(struct perf_cpus *cpus, const char *list);

/* An event: the attributes of source O, or of the event that has a CPU's buffer (NULL). */
struct perf_event_attr perf_attr_of(
	const struct perf_options *o, const struct perf_source *source, bool counts_lost);

/*
 * An event of processor CPU, which does not report yet: of SOURCE, or that which has the buffer
 * (NULL).  Returns its descriptor, or -1 with errno.
 */
int perf_open_event(struct perf *p, const struct perf_source *source, int cpu);

/*
 * The event of SOURCE of CPU AT of those that have a buffer, directed into
 * that: its descriptor, -1 before, into *RET_FD, and its number into *RET_ID.  0, or -1 with E: it
 * may be open then.
 */
int perf_open_source(struct perf *p, const struct perf_source *source, size_t at, int *ret_fd,
	uint64_t *ret_id, struct err *e);

/* How many records of the event FD were lost; 0: not known. */
uint64_t perf_event_lost(const struct perf *p, int fd);

#endif
