/*
 * count-mappings: the counter as a job, for mappings.  The first function of each pair is called
 * before the system call, the second one after it.
 */
#ifndef MEMDIAG_AGENT_COUNT_COUNT_MAPPINGS_H
#define MEMDIAG_AGENT_COUNT_COUNT_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/mapping.h"
#include "wire/wire.h"

/*
 * The future entries of the table for a mapping that mremap() moves or enlarges.  Most mappings
 * have equal entries everywhere.  Since Linux 6.17, mremap() can also move several mappings
 * unchanged (remap_move() in mm/mremap.c).
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

/* The state of a call in progress. */
struct count_mapping {
	struct wire_thread *self; /* NULL if the call is not counted */
	int64_t was_bytes;	  /* counted before for the addresses that the call takes */
	int64_t counted_bytes;	  /* was_bytes and what the call adds */
	int64_t more_bytes;	  /* bytes to add after mprotect() */
	uint32_t nr_starts;	  /* number of starts of counting, at the beginning of the call */
	unsigned int state;	  /* state of the new mapping */
};

struct count_remap {
	struct count_mapping call;
	struct runs runs; /* entries of the moved mapping */
};

/* False if the mapping does not fit the limit; errno is set. */
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
