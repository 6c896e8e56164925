/* perf-priv: declarations shared by the files of perf. */
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

/* A bit of read_format: the number of lost records of the event; since Linux 6.0. */
#define PERF_COUNTS_LOST (1U << 4)

struct perf {
	struct perf_rings rings;
	size_t nr_cpus;	  /* allocated */
	size_t nr_events; /* of each CPU: one for each source, and one that has the buffer */
	int *fd;	  /* nr_events for each CPU, the buffer's first; -1: not open */
	uint64_t *id;	  /* for each CPU twice nr_events - 1: see struct perf_ring */
	uint64_t *sample_type;
	struct perf_event_mmap_page **page; /* of each CPU, followed by the buffer */
	size_t page_bytes, ring_bytes;
	struct pollfd *poll;
	bool counts_lost;
	int max_paranoid;	     /* kernel.perf_event_paranoid that allows all sources */
	struct perf_options options; /* the caller owns the sources */
	int *cpu;		     /* the number of each CPU that has a buffer */
	/* Sums of perf_event_finish(): of the closed events; after perf_stop() of all. */
	uint64_t nr_lost, nr_samples;
	bool has_uncounted; /* the samples of an event are unknown */
	uint64_t seen_ns;   /* when the heads were read last */
	bool is_stopped;
	struct rlimit old_files; /* the original limit; rlim_max is 0 if it was not changed */
};

#endif
