/* perf-priv: events, as the files of perf share them. */
#ifndef MEMDIAG_OS_PERF_PRIV_H
#define MEMDIAG_OS_PERF_PRIV_H

#include <linux/perf_event.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "os/perf-ring.h"
#include "os/perf.h"

/* Read_format: how many records of the event were lost; since Linux 6.0. */
#define PERF_COUNTS_LOST (1U << 4)

struct perf {
	struct perf_rings rings;
	size_t nr_cpus;	  /* that there is room for */
	size_t nr_events; /* of each CPU: the sources', and the one that has the buffer */
	int *fd;	  /* nr_events of each CPU, the buffer's first; -1: not open */
	uint64_t *id;	  /* of each CPU twice nr_events - 1: see struct perf_ring */
	uint64_t *sample_type;
	struct perf_event_mmap_page **page; /* of each CPU, with the buffer behind it */
	size_t page_bytes, ring_bytes;
	struct pollfd *poll;
	bool counts_lost;
	int max_paranoid;	     /* kernel.perf_event_paranoid that allows all sources */
	struct perf_options options; /* the sources are the caller's */
	int *cpu;		     /* the number of each CPU that has a buffer */
	uint64_t nr_lost; /* as the events say that were closed; of all after perf_stop() */
	uint64_t seen_ns; /* when heads were read last */
	bool is_stopped;
	struct rlimit old_files; /* as it was; rlim_max is 0 if it was not changed */
};

#endif
