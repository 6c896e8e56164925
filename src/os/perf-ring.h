/*
 * perf-ring: the buffers that the kernel writes records of events into, one of each CPU, without a
 * system call.
 *
 *	       tail                  at                            end, the head of the last update
 *	--------|---------------------|-----------------------------|---------------- data_bytes
 *	 free   | given to the caller | published, not given yet    | free, or written just now
 */
#ifndef MEMDIAG_OS_PERF_RING_H
#define MEMDIAG_OS_PERF_RING_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/perf.h"

/* Each record has these: they are in perf_event_attr.sample_type of all events. */
#define PERF_RING_SAMPLE_TYPE (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)
/* The size of a record is a number of 16 bits. */
#define PERF_RING_RECORD_MAX 65536

struct perf_ring {
	/* Set by the caller. */
	const char *data;    /* aligned to 8 bytes */
	uint64_t data_bytes; /* a power of two */
	const __u64 *head;   /* the kernel writes it, and we ... */
	__u64 *tail;	     /* ... this one */
	/* of the sources' events of this CPU, in their order; then of those they have replaced */
	const uint64_t *id;

	/* Zeroes at first. */
	uint64_t at, end;
	bool is_known; /* that a record is at AT, of ... */
	uint64_t time_ns;
};

struct perf_rings {
	/* Set by the caller. */
	struct perf_ring *ring;
	size_t nr;
	const uint64_t *sample_type; /* of each source's events */
	size_t nr_sources;
	bool has_replaced;   /* there are events that were replaced */
	uint32_t generation; /* of the events that are open */
	size_t nr_regs;	     /* bits in the mask of registers */
	uint64_t ahead_ns;   /* our clock compared with that of the records */

	/* Zeroes at first. */
	uint64_t limit_ns;	 /* of the records' clock; records from then on are kept */
	struct perf_ring *given; /* its last record is the caller's until the next call */
	uint64_t nr_lost;	 /* as the kernel's records say */
	uint64_t nr_damaged;	 /* times that the rest of a ring was no sequence of records */
	char copy[PERF_RING_RECORD_MAX] __attribute__((aligned(8)));
};

/*
 * From now on perf_rings_next() gives the records that have been published when this is called,
 * but only those before LIMIT_NS (of our clock; UINT64_MAX: all).
 */
void perf_rings_update(struct perf_rings *r, uint64_t limit_ns);

/* As perf_next(). */
bool perf_rings_next(struct perf_rings *r, struct perf_record *ret);

/* Whether there are records that were published before the last update, and are kept. */
bool perf_rings_has_more(const struct perf_rings *r);

#endif
