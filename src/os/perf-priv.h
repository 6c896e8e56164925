/* perf-priv: events, as the files of perf share them. */
#ifndef MEMDIAG_OS_PERF_PRIV_H
#define MEMDIAG_OS_PERF_PRIV_H

#include <linux/perf_event.h>
#include <poll.h>
#include <sys/resource.h>

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
