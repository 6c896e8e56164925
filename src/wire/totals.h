/*
 * totals: the sums of all threads' counters.
 */
#ifndef MEMDIAG_WIRE_TOTALS_H
#define MEMDIAG_WIRE_TOTALS_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/wire.h"

/* Names of the values for people and scripts, in the same order; NULL at the end. */
extern const char *const wire_account_names[];
extern const char *const wire_live_set_names[];
extern const char *const wire_on_limit_names[];

/* Sums over all threads. */
struct wire_totals {
	uint64_t live_bytes;   /* blocks and mappings */
	uint64_t mapped_bytes; /* part of it that is mappings */
	/* the peak of live_bytes; exact for one thread, approximate for several */
	uint64_t peak_bytes;
	uint64_t nr_allocated, nr_freed, nr_live;
	/* allocated minus freed blocks; negative if more of the older ones were freed */
	int64_t grown_bytes, nr_grown;
	/* so far, blocks and mappings; includes what realloc() adds to a block */
	uint64_t allocated_bytes;
};

/*
 * Add up S, of which NR threads can be read.  The result is exact if no thread is running;
 * otherwise each thread's counters are from some moment during the call.
 */
void wire_add_up(const struct wire_segment *s, uint32_t nr, struct wire_totals *ret);

/*
 * True if the SIZE bytes at S are a segment that this memdiag supports and contain its threads.
 * Only the head is read: with SIZE WIRE_WHOLE_BYTES it can be checked before the threads,
 * WIRE_SEGMENT_BYTES(s->nr_threads), are copied.
 */
bool wire_is_valid(const struct wire_segment *s, uint64_t size);

#endif
