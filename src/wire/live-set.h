/*
 * live-set: the location of the live blocks of a record or a profile, which memdiag reads.  The
 * dynamic symbol WIRE_LIVE_BLOCKS_SYMBOL is struct wire_live_blocks, which is constant.  A record
 * has either words by address (src/agent/note/shadow.h) or a table (src/agent/note/table.h), a
 * profile has a table of the sampled blocks (src/agent/note/sampled.h).
 */
#ifndef MEMDIAG_WIRE_LIVE_SET_H
#define MEMDIAG_WIRE_LIVE_SET_H

#include <stdint.h>

#define WIRE_LIVE_BLOCKS_SYMBOL "memdiag_agent_live_blocks"
#define WIRE_LIVE_BLOCKS_MAGIC UINT64_C(0x326576696c676d64) /* "dmglive2" */

/* ---- words by address ---- */

#define WIRE_SHADOW_ADDRESS_BITS 48 /* in a process: 47 on x86-64 without 5-level page tables */
#define WIRE_SHADOW_TABLE_BITS 34   /* of these in a table */
#define WIRE_SHADOW_LEAF_BITS 20    /* of these in a leaf */
#define WIRE_SHADOW_WORD_BITS 4
#define WIRE_SHADOW_TABLES (UINT64_C(1) << (WIRE_SHADOW_ADDRESS_BITS - WIRE_SHADOW_TABLE_BITS))
#define WIRE_SHADOW_LEAVES (UINT64_C(1) << (WIRE_SHADOW_TABLE_BITS - WIRE_SHADOW_LEAF_BITS))
#define WIRE_SHADOW_WORDS (UINT64_C(1) << (WIRE_SHADOW_LEAF_BITS - WIRE_SHADOW_WORD_BITS))
/* A leaf is longer than its addresses, since the words of the last block may extend past them. */
#define WIRE_SHADOW_LEAF_BYTES (WIRE_SHADOW_WORDS * sizeof(uint32_t) + 4096)

/* ---- the table ---- */

#define WIRE_TABLE_SITE_BITS 20
#define WIRE_TABLE_FIRST_BITS 11 /* 2048 buckets, 256 KiB */
#define WIRE_TABLE_LEVELS 14	 /* 4 GiB, for 335 million blocks */
#define WIRE_TABLE_BLOCKS 10

struct wire_bucket {
	/* address / 16 and site; 0: empty */
	uint64_t key[WIRE_TABLE_BLOCKS];
	uint32_t bytes[WIRE_TABLE_BLOCKS];
	uint32_t unused[2];
};
_Static_assert(sizeof(struct wire_bucket) == 128, "a bucket is two cache lines");

/* ---- the sampled blocks ---- */

#define WIRE_SAMPLED_LEVELS 8		/* the last one has room for 134 million blocks */
#define WIRE_SAMPLED_FIRST_BUCKETS 1024 /* each further level has four times as many */
#define WIRE_SAMPLED_BLOCKS 8

struct wire_sampled_bucket {
	uint64_t address[WIRE_SAMPLED_BLOCKS]; /* 0: empty; WIRE_SAMPLED_BUSY: being written */
};
#define WIRE_SAMPLED_BUSY 1

/* The buckets of a level are followed by a record of WIRE_SAMPLED_BYTES for each address. */
#define WIRE_SAMPLED_BYTES 32
#define WIRE_SAMPLED_SITE 16 /* where its site is in it, a uint32_t */

/* Addresses of variables of the agent. */
struct wire_live_blocks {
	uint64_t magic;
	uint64_t shadow_at;  /* WIRE_SHADOW_TABLES pointers */
	uint64_t buckets_at; /* a pointer to struct wire_bucket */
	uint64_t levels_at;  /* uint32_t: levels in use */
	uint64_t sampled_at; /* WIRE_SAMPLED_LEVELS pointers to struct wire_sampled_bucket, or 0 */
};

#endif
