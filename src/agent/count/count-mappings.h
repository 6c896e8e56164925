/*
 * count-mappings: the counter as a job: mappings.  The first function of each pair is called before
 * the system call, the other after it.
 */
#ifndef MEMDIAG_AGENT_COUNT_COUNT_MAPPINGS_H
#define MEMDIAG_AGENT_COUNT_COUNT_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/mapping.h"
#include "wire/wire.h"

/*
 * The future entries of the table for a mapping.  The kernel moves one, and makes it larger; most
 * have the same entry everywhere.  Since 6.17 it moves also several as they are (remap_move() in
 * mm/mremap.c).
 */
#define MOST_RUNS 16
struct runs {
	struct run {
		size_t bytes;
		unsigned int state;
	} v[MOST_RUNS];
	size_t nr;
	int64_t counted_bytes;
};

/* A call under way. */
struct count_mapping {
	struct wire_thread *self; /* NULL: it is not counted */
	int64_t was_bytes;	  /* counted for the addresses that it takes */
	int64_t counted_bytes;	  /* these, and what it takes more */
	int64_t more_bytes;	  /* how many more are to count after mprotect() */
	uint32_t nr_starts;	  /* of counting, when it began */
	unsigned int state;	  /* that the mapping will have */
};

struct count_remap {
	struct count_mapping call;
	struct runs runs; /* what is mapped anew */
};

/* False: it does not fit the limit, and errno is set. */
bool count_may_map(struct wire_thread *self, const struct map_call *m, struct count_mapping *ret);
void count_mapped(const struct map_call *m, void *mapped, struct count_mapping *c);

void count_unmapping(struct wire_thread *self, void *at, size_t bytes, struct count_mapping *ret);
void count_unmapped(void *at, size_t bytes, bool has_failed, struct count_mapping *c);

bool count_may_remap(struct wire_thread *self, const struct remap_call *r, struct count_remap *ret);
void count_remapped(const struct remap_call *r, void *mapped, struct count_remap *c);

bool count_may_protect(
	struct wire_thread *self, void *at, size_t bytes, int prot, struct count_mapping *ret);
void count_protected(void *at, size_t bytes, int prot, int error, struct count_mapping *c);

#endif
