/*
 * sample-mappings: the sampler as a job: mappings.  They are rare, so each is noted, with its
 * stack.  The first function of each pair is called before the system call, the other after it.
 * Nothing is refused, and errno stays.
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

/* A call under way. */
struct sample_mapping {
	struct wire_thread *self; /* NULL: it is libc's, and nothing of it is noted */
	uint32_t call;		  /* its number; 0: no address leaves by it */
};

#define SAMPLE_MOST_PARTS 16
struct sample_remap {
	struct sample_mapping call;
	/* what was at the old addresses, moved to 0, and what comes behind it */
	struct mapset_part part[SAMPLE_MOST_PARTS + 1];
	size_t nr;
};

/* A call in a thread that is in a hook already cannot be noted: count it as lost. */
void sample_lose_mapping(void);

/* IS_NOTED here and below: it is the program's, not libc's own. */
void sample_mapping(struct wire_thread *self, const struct map_call *m, bool is_noted,
	struct sample_mapping *ret);
void sample_mapped(const struct map_call *m, void *mapped, const struct sample_mapping *c);

void sample_unmapping(struct wire_thread *self, void *at, size_t bytes, bool is_noted,
	struct sample_mapping *ret);
void sample_unmapped(void *at, size_t bytes, bool has_failed, const struct sample_mapping *c);

void sample_remapping(struct wire_thread *self, const struct remap_call *r, bool is_noted,
	struct sample_remap *ret);
void sample_remapped(const struct remap_call *r, void *mapped, struct sample_remap *c);

/* After mprotect(); ERROR is 0 or the errno. */
void sample_protected(
	struct wire_thread *self, void *at, size_t bytes, int prot, int error, bool is_noted);

#pragma GCC visibility pop

#endif
