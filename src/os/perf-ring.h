/*
 * perf-ring: the buffers, one for each CPU, into which the kernel writes records of events, without
 * a system call.
 *
 *	       tail                  at                            end, the head of the last update
 *	--------|---------------------|-----------------------------|---------------- data_bytes
 *	 free   | given to the caller | published, not given yet    | free, or written just now
 */
#ifndef MEMDIAG_OS_PERF_RING_H
#define MEMDIAG_OS_PERF_RING_H

#include <linux/perf_event.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/perf.h"

/*
 * Fields of each record: they are in perf_event_attr.sample_type and read_format of all events.
 *
 * If two programs watch page faults, the kernel fills in one structure for the events of both
 * (kernel/events/core.c, ___perf_sw_event(), Linux 6.2 to at least 6.18; for tracepoints only
 * before 6.4): the second event's record has the identifier, the process, the time on the clock,
 * and the size of the stack of the first one's.  Its address, its registers, and what
 * PERF_SAMPLE_READ adds are its own: so the source is found by the latter.
 */
#define PERF_RING_SAMPLE_TYPE                                                                      \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |          \
		PERF_SAMPLE_READ)
#define PERF_RING_READ_FORMAT PERF_FORMAT_ID
/* The size of a record is a 16-bit number. */
#define PERF_RING_RECORD_MAX 65536

struct perf_ring {
	/* Set by the caller. */
	const char *data;    /* aligned to 8 bytes */
	uint64_t data_bytes; /* a power of two */
	const __u64 *head;   /* written by the kernel */
	__u64 *tail;	     /* written by us */
	/*
	 * ids of the sources' events on this CPU, in their order; then of those they have replaced
	 */
	const uint64_t *id;

	/* Initially zero. */
	uint64_t at, end;
	uint64_t old_end; /* before the last update */
	bool is_known;	  /* whether a record is at AT, with this time */
	uint64_t time_ns;
	uint64_t given_ns; /* time of the record before it */
};

struct perf_rings {
	/* Set by the caller. */
	struct perf_ring *ring;
	size_t nr;
	const uint64_t *sample_type; /* of the events of each source */
	size_t nr_sources;
	bool has_replaced;   /* some events were replaced */
	uint32_t generation; /* of the events that are open */
	bool counts_lost;    /* samples say how many were lost */
	size_t nr_regs;	     /* bits in the mask of registers */
	uint64_t ahead_ns;   /* our clock minus that of the records */

	/* Initially zero. */
	uint64_t limit_ns;	 /* on the records' clock; records from then on are kept */
	struct perf_ring *given; /* the caller has its last record until the next call */
	uint64_t nr_lost;	 /* as the kernel's records report */
	uint64_t nr_samples;	 /* records of events that were given */
	/* number of times that the rest of a ring was not a sequence of records */
	uint64_t nr_damaged;
	char copy[PERF_RING_RECORD_MAX] __attribute__((aligned(8)));
};

/*
 * Make perf_rings_next() give the records that are published at the time of this call, but only
 * those before LIMIT_NS (on our clock; UINT64_MAX: all).
 */
void perf_rings_update(struct perf_rings *r, uint64_t limit_ns);

/* As perf_next(). */
bool perf_rings_next(struct perf_rings *r, struct perf_record *ret);

/* Return whether records that were published before the last update are kept. */
bool perf_rings_has_more(const struct perf_rings *r);

#endif
