/*
 * block-stacks: the stacks that allocated single blocks of a process, as the agent's profile or
 * record of it has them.
 */
#ifndef MEMDIAG_CAPTURE_BLOCK_STACKS_H
#define MEMDIAG_CAPTURE_BLOCK_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "agentdata/agent-segment.h"
#include "agentdata/live-set.h"
#include "agentdata/sites.h"
#include "base/err.h"
#include "base/raddr.h"
#include "glibc/process.h"
#include "profile/profile.h"
#include "report/frames.h"
#include "wire/memory.h"

/* A range of the process that is the agent's. */
struct block_stacks_memory {
	raddr start, end;
};

struct block_stacks {
	struct agent_segment agent;
	/* The memory of the agent: it has the addresses of blocks, and is not the program's. */
	struct block_stacks_memory memory[WIRE_MEMORY_PARTS];
	size_t nr_memory;
	/* WIRE_NOTE_NOTHING: it is neither profiled nor recorded, and nothing else is set. */
	enum wire_noting noting;
	struct sites_copy sites;
	struct live_set set;
	uint32_t *first;    /* owned; of each site the first one with the same frames */
	struct profile *p;  /* set by block_stacks_name() */
	uint32_t *stack_of; /* owned; the number in P of each site's stack */
	struct stacks_marks marks;
};

/*
 * Find the agent in P, and list its memory.  B must be zeroed; release it in any case.  Returns 0,
 * also without an agent, or -1 with E.
 */
int block_stacks_find(struct block_stacks *b, const struct process *p, struct err *e);
/* Read the live blocks and their sites from P.  Returns 0, also without any, or -1 with E. */
int block_stacks_read(struct block_stacks *b, const struct process *p, struct err *e);
void block_stacks_release(struct block_stacks *b);

/*
 * Return the site of the block at AT, which has USABLE_BYTES: the same number for all sites with
 * the same frames; 0: unknown.
 */
uint32_t block_stacks_site(const struct block_stacks *b, raddr at, uint64_t usable_bytes);

/*
 * Find the names of the frames of the NR sites in SITE, numbers of block_stacks_site().  Returns 0,
 * or -1 with E.
 */
int block_stacks_name(struct block_stacks *b, const struct process *p, const uint32_t *site,
	size_t nr, struct err *e);

/* Return the number in B->p of the stack of SITE, one of those named; false if it has none. */
bool block_stacks_stack(const struct block_stacks *b, uint32_t site, uint32_t *ret);

/*
 * Return whether IS_WANTED is true of the name, of the file or of the object of a frame of SITE,
 * one of those named.
 */
bool block_stacks_any(const struct block_stacks *b, uint32_t site,
	bool (*is_wanted)(const char *name, void *arg), void *arg);

#endif
