/*
 * log: what a record has seen, one event after the other, on its way from the threads of a process
 * to the files that memdiag writes.  It lies in the mapping of the sites (wire/sites.h), which the
 * events refer to, and is whole at any moment.
 *
 *	+--------------------------------------+ log_at of struct wire_sites
 *	| struct wire_log                      |
 *	+--------------------------------------+ WIRE_LOG_TAKEN_AT behind it
 *	| a bit for each block: it is taken    |
 *	+--------------------------------------+ WIRE_LOG_HEADER_BYTES behind it
 *	| blocks, WIRE_LOG_BLOCK_BYTES each    |  one is of one place at a time
 *	+--------------------------------------+
 *
 * A thread takes a free block, appends to it, and takes another one when it is full; no thread ever
 * waits: without a free block the event is dropped, and counted.  memdiag reads what was appended,
 * and frees the blocks that are full and read.
 */
#ifndef MEMDIAG_WIRE_LOG_H
#define MEMDIAG_WIRE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/sites.h"

#define WIRE_LOG_MAGIC UINT64_C(0x33676f6c67616d64) /* "dmaglog3" */
#define WIRE_LOG_BLOCK_BYTES 16384
#define WIRE_LOG_MAX_BLOCKS 65536
#define WIRE_LOG_TAKEN_AT 4096
#define WIRE_LOG_HEADER_BYTES (WIRE_LOG_TAKEN_AT + WIRE_LOG_MAX_BLOCKS / 8)

/* ---- events ---- */

/*
 * The order of events of all threads: the counter of time that all processors share, in units of
 * WIRE_STAMP_TICKS.  What the thread has read before is read before the counter, so if one thread
 * has waited for another one, its stamp is the greater one.
 */
#if defined __x86_64__
#define WIRE_STAMP_TICKS 32
#else
#define WIRE_STAMP_TICKS 1
#endif

static inline uint64_t
wire_stamp(void)
{
#if defined __x86_64__
	uint32_t low, high;

	__asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
	return ((uint64_t)high << 32 | low) / WIRE_STAMP_TICKS;
#elif defined __aarch64__
	uint64_t ticks;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
	return ticks;
#else
	return 0;
#endif
}

/*
 * An event is a word: its kind, the site that the block was allocated at (less than
 * WIRE_SITES_MAX_SITES), the lower bits of its stamp, and the bytes that the program asked for.  Of
 * a block with WIRE_LOG_MANY_BYTES or more the bytes are the next word.  A time is for all events
 * that follow in the block, and each block begins with one: a word, and the next one is its stamp.
 * An event that comes WIRE_LOG_FRESH or more after the last time has another one before it.
 *
 * As long as the thread of one place alone appends, its events have no stamps of their own but that
 * of their time.
 *
 * What a mapping of the program's own gets more or less of memory that counts is an event of two
 * words: the first as of an allocation of WIRE_LOG_MANY_BYTES or more at the mapping's site, the
 * second its kind, one of the last four, and its bytes.
 */
enum wire_log_kind {
	WIRE_LOG_ALLOCATED,
	WIRE_LOG_FREED,
	WIRE_LOG_FREED_SOON, /* temporary, as struct wire_site has it */
	WIRE_LOG_TIME,	     /* the rest of the word: CLOCK_MONOTONIC in ns, a tick or so late */
	WIRE_LOG_MAPPED,     /* a mapping has memory that counts, and had none */
	WIRE_LOG_GROWN,	     /* it has more */
	WIRE_LOG_UNMAPPED,   /* it has none any more */
	WIRE_LOG_SHRUNK,     /* it has less */
};
#define WIRE_LOG_KIND_SHIFT 62
#define WIRE_LOG_SITE_SHIFT 42
#define WIRE_LOG_STAMP_SHIFT 22
#define WIRE_LOG_STAMP_MASK UINT64_C(0xfffff)
#define WIRE_LOG_MANY_BYTES ((UINT64_C(1) << WIRE_LOG_STAMP_SHIFT) - 1)
#define WIRE_LOG_FRESH (UINT64_C(1) << 16)

static inline uint64_t
wire_log_event(enum wire_log_kind kind, uint32_t site, uint64_t bytes, uint64_t stamp)
{
	return (uint64_t)kind << WIRE_LOG_KIND_SHIFT | (uint64_t)site << WIRE_LOG_SITE_SHIFT |
		(stamp & WIRE_LOG_STAMP_MASK) << WIRE_LOG_STAMP_SHIFT |
		(bytes < WIRE_LOG_MANY_BYTES ? bytes : WIRE_LOG_MANY_BYTES);
}

static inline uint64_t
wire_log_time(uint64_t ns)
{
	return (uint64_t)WIRE_LOG_TIME << WIRE_LOG_KIND_SHIFT | ns;
}

static inline enum wire_log_kind
wire_log_kind(uint64_t word)
{
	return (enum wire_log_kind)(word >> WIRE_LOG_KIND_SHIFT);
}

static inline uint32_t
wire_log_site(uint64_t word)
{
	return (uint32_t)(word >> WIRE_LOG_SITE_SHIFT) & 0xfffff;
}

/* The stamp of the event WORD, whose time has the stamp TIMES. */
static inline uint64_t
wire_log_stamp(uint64_t word, uint64_t times)
{
	return times + (((word >> WIRE_LOG_STAMP_SHIFT) - times) & WIRE_LOG_STAMP_MASK);
}

/* The number in WORD: of a time its nanoseconds, of others their bytes. */
static inline uint64_t
wire_log_value(uint64_t word)
{
	return wire_log_kind(word) == WIRE_LOG_TIME
		? word & ((UINT64_C(1) << WIRE_LOG_KIND_SHIFT) - 1)
		: word & WIRE_LOG_MANY_BYTES;
}

#define WIRE_LOG_MAPPING_SHIFT 61
_Static_assert(WIRE_LOG_MAPPED == 4 && WIRE_LOG_SHRUNK == 7, "they are the upper half of 3 bits");

/* The second word of an event of a mapping. */
static inline uint64_t
wire_log_mapping(enum wire_log_kind kind, uint64_t bytes)
{
	return (uint64_t)kind << WIRE_LOG_MAPPING_SHIFT | bytes;
}

/* Whether the second word WORD of an event is that of a mapping; a block has not so many bytes. */
static inline bool
wire_log_is_mapping(uint64_t word)
{
	return word >> WIRE_LOG_MAPPING_SHIFT >= WIRE_LOG_MAPPED;
}

/* ---- blocks ---- */

/*
 * The owner of blocks with events of mappings, which threads append one at a time: so they are in
 * the order in which they happened.
 */
#define WIRE_LOG_OWNER_OF_MAPPINGS UINT32_MAX

#define WIRE_LOG_IS_STAMPING (UINT32_C(1) << 31)
#define WIRE_LOG_TOGETHER (UINT32_MAX - 1)

struct wire_log_block {
	/*
	 * 0: free.  Else the place of the segment that has it, plus 1, or
	 * WIRE_LOG_OWNER_OF_MAPPINGS.  The agent sets it by a
	 * compare-and-swap of 8 bytes, this and IS_FULL.  When IS_FULL is set and all is read,
	 * memdiag makes what follows IS_FULL 0, and then both by one write of 8 bytes.  The kernel
	 * may copy that byte by byte from the first on: IS_FULL is 1 until nothing is left that
	 * would undo what the agent sets.
	 */
	uint32_t owner;
	uint32_t is_full; /* 1: nothing is appended any more */
	/*
	 * The number among the place's blocks, 1, 2, ... in the order of their words.  Stored
	 * before any word is appended; until then, 0, the block is not read.
	 */
	uint64_t number;
	/*
	 * Words so far; an event of two is added at once.  Stored after the words (release).  With
	 * WIRE_LOG_IS_STAMPING from before an event gets its stamp until it is added.
	 */
	uint32_t nr_words;
	/*
	 * The log's is_open when the block was taken.  The words of an earlier opening are of no
	 * use any more; the block's thread gives it up with its next event.
	 */
	uint32_t opening;
	uint32_t unused[10];
	uint64_t word[WIRE_LOG_BLOCK_BYTES / 8 - 8];
};

_Static_assert(sizeof(struct wire_log_block) == WIRE_LOG_BLOCK_BYTES, "blocks are not dense");

/* The state of the memdiag that writes the files, for other memdiags; the agent ignores it. */
struct wire_log_writer {
	uint32_t pid;	    /* as it is seen in its PID namespace; 0: no memdiag has written yet */
	uint32_t max_files; /* how many are to stay: any memdiag may change it; 0: the default */
	uint32_t nr_files, nr_removed;
	/* The errno for which no file can be written, or for which it has given up; 0: none. */
	uint32_t error;
	uint32_t nr_damaged;
	uint32_t has_ended; /* 1: the last file has its end, and all that was appended */
	uint32_t unused;
	uint64_t round_ns; /* CLOCK_MONOTONIC, when it wrote last; 0: never */
	/* As in struct log_written. */
	uint64_t nr_events, raw_bytes, file_bytes, nr_lost, nr_unmatched;
	char dir[1024]; /* where the files are */
	/* As in the head of each file (doc/internals/log.md): no other log has both. */
	uint64_t realtime_ns, opened_ns;
};

struct wire_log {
	uint64_t magic;
	uint32_t nr_blocks;
	/*
	 * 0: nothing is appended.  Else the number of this opening, nr_openings: memdiag sets both,
	 * or the agent as it begins.
	 */
	uint32_t is_open;
	/*
	 * The place, plus 1, that alone appends: its events have the stamp of their time.  Another
	 * one that appends puts itself here first, or WIRE_LOG_TOGETHER where places take turns so
	 * fast that each event has a stamp of its own.  Whoever changes it takes a stamp then.
	 * memdiag makes the upper byte of the latter 0 now and then: what is left is no place.
	 */
	uint32_t alone;
	uint32_t nr_openings;
	/* Blocks behind these were never used, and take no memory: so do not read them. */
	uint32_t nr_touched;
	uint32_t unused;
	/*
	 * Events that are missing, and the bytes of their blocks: for want of a free block, or as
	 * nr_lost, nr_forgotten and no_room of struct wire_sites have it; also as nr_missed and
	 * nr_mappings_lost, whose bytes are not known.
	 */
	uint64_t nr_dropped, dropped_bytes;
	uint64_t opened_ns; /* CLOCK_MONOTONIC, when it was opened */
	struct wire_log_writer writer;
};

_Static_assert(sizeof(struct wire_log) <= WIRE_LOG_TAKEN_AT, "the bits are behind the head");
/* So many blocks fit as the bytes behind the sites are times the size of one. */
_Static_assert(WIRE_LOG_HEADER_BYTES < WIRE_LOG_BLOCK_BYTES, "the head is less than a block");

/*
 * Bit I of the whole is set: block I was taken.  It only says where to look, the block's owner
 * decides: a thread sets the bit before it takes the block, and memdiag, which cannot change a
 * bit alone, writes them all with each round, as the owners were when it looked.  So a bit may be
 * clear while its block is taken; the next thread that looks there sets it.  It may be set while
 * its block is free, until the next round.
 */
static inline uint64_t *
wire_log_taken(const struct wire_log *l)
{
	return (uint64_t *)((uintptr_t)l + WIRE_LOG_TAKEN_AT);
}

static inline struct wire_log_block *
wire_log_block(const struct wire_log *l, uint32_t i)
{
	return (struct wire_log_block *)((uintptr_t)l + WIRE_LOG_HEADER_BYTES) + i;
}

/* The log of S; NULL: it has none. */
static inline struct wire_log *
wire_log_of(const struct wire_sites *s)
{
	return s->log_at ? (struct wire_log *)((uintptr_t)s + s->log_at) : NULL;
}

#endif
