/*
 * sample-mappings: the sampler as a job, for mappings.  They are rare, so each one is recorded with
 * its stack.  The first function of each pair is called before the system call, the second one
 * after it.  The sampler refuses no call and keeps errno.
 */
#ifndef MEMDIAG_AGENT_NOTE_SAMPLE_MAPPINGS_H
#define MEMDIAG_AGENT_NOTE_SAMPLE_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/mapping.h"
#include "agent/note/mapset.h"
#include "wire/wire.h"

#pragma GCC visibility push(hidden)

/* The state of a call in progress. */
struct sample_mapping {
	struct wire_thread *self; /* NULL: libc makes the call, and it is not recorded */
	uint32_t call;		  /* its number; 0: the call unmaps nothing */
};

#define SAMPLE_MOST_PARTS 16
struct sample_remap {
	struct sample_mapping call;
	/* the old mapping's parts, moved to address 0, and the part that follows it */
	struct mapset_part part[SAMPLE_MOST_PARTS + 1];
	size_t nr;
};

/* Count a call as lost, in a thread that is already in a hook and so cannot record it. */
void sample_lose_mapping(void);

/* IS_NOTED, here and below: the program makes the call, not libc for itself. */
void sample_mapping(struct wire_thread *self, const struct map_call *m, bool is_noted,
	struct sample_mapping *ret);
void sample_mapped(const struct map_call *m, void *mapped, const struct sample_mapping *c);

void sample_unmapping(struct wire_thread *self, void *at, size_t bytes, bool is_noted,
	struct sample_mapping *ret);
void sample_unmapped(void *at, size_t bytes, bool has_failed, const struct sample_mapping *c);

void sample_remapping(struct wire_thread *self, const struct remap_call *r, bool is_noted,
	struct sample_remap *ret);
void sample_remapped(const struct remap_call *r, void *mapped, struct sample_remap *c);

/* mprotect() was called; ERROR is 0 or its errno. */
void sample_protected(
	struct wire_thread *self, void *at, size_t bytes, int prot, int error, bool is_noted);

#pragma GCC visibility pop

#endif
