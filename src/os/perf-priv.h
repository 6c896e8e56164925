/* perf-priv: events, as the files of perf share them. */
#ifndef MEMDIAG_OS_PERF_PRIV_H
#define MEMDIAG_OS_PERF_PRIV_H

#include <linux/perf_event.h>

#include "os/perf-ring.h"
#include "os/perf.h"

/* Read_format: how many records of the event were lost; since Linux 6.0. */
#define PERF_COUNTS_LOST (1U << 4)

/*
 * Fill E with the reason for which perf_event_open() has failed with CODE: where
 * kernel.perf_event_paranoid of MAX_PARANOID, or CAP_PERFMON, would have allowed it.  Returns -1.
 */
int perf_refuse_event(int code, int max_paranoid, struct err *e);

/* The same of a mmap() of BYTES for the buffer of each of NR_CPUS. */
int perf_refuse_ring(int code, size_t bytes, size_t nr_cpus, struct err *e);

struct perf_cpus {
	int *v; /* owned by the caller */
	size_t nr, room;
};

/* Add the numbers of a list as "0-3,6"; what is no such list ends it.  -1: no memory. */
int perf_cpus_parse(struct perf_cpus *cpus, const char *list);

/* An event: the attributes of source O, or of the event that has a CPU's buffer (NULL). */
struct perf_event_attr perf_attr_of(
	const struct perf_options *o, const struct perf_source *source, bool counts_lost);

#endif
