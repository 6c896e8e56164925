/*
 * memory: the list of the memory that the sampler uses in a process, from which memdiag finds the
 * resident part.  The dynamic symbol WIRE_MEMORY_SYMBOL is the table itself.
 */
#ifndef MEMDIAG_WIRE_MEMORY_H
#define MEMDIAG_WIRE_MEMORY_H

#include <stdint.h>

#define WIRE_MEMORY_SYMBOL "memdiag_agent_memory"
#define WIRE_MEMORY_MAGIC UINT64_C(0x32796d656d676d64) /* "dmgmemy2" */
#define WIRE_MEMORY_PARTS 512

enum wire_memory_kind {
	WIRE_MEMORY_TABLES,   /* of the unwinder: cached rules, objects */
	WIRE_MEMORY_SITES,    /* wire/sites.h */
	WIRE_MEMORY_LIVE_SET, /* the live sampled blocks, and their filter */
	WIRE_MEMORY_THREADS,  /* data of each thread: its last stack */
	WIRE_NR_MEMORY_KINDS,
};

struct wire_memory_part {
	uint64_t start;
	uint64_t bytes; /* 0: the part is unused; written last */
	uint32_t kind;	/* enum wire_memory_kind */
	uint32_t unused;
};

struct wire_memory {
	uint64_t magic;
	uint64_t nr_missing; /* parts that did not fit */
	struct wire_memory_part part[WIRE_MEMORY_PARTS];
};

#endif
