/*
 * log: the events of a record, in order, on their way from the threads of a process to the files
 * that memdiag writes.  It is in the mapping of the sites (wire/sites.h), to which the events
 * refer, and is consistent at any moment.
 *
 *	+--------------------------------------+ log_at of struct wire_sites
 *	| struct wire_log                      |
 *	+--------------------------------------+ log_at + WIRE_LOG_TAKEN_AT
 *	| a bit for each block: taken          |
 *	+--------------------------------------+ log_at + WIRE_LOG_HEADER_BYTES
 *	| blocks, WIRE_LOG_BLOCK_BYTES each    |  a block belongs to one place at a time
 *	+--------------------------------------+
 *
 * A thread takes a free block, appends to it, and takes another block when it is full.  No thread
 * ever waits: if all blocks are taken, the event is dropped and counted. memdiag reads the appended
 * events, and frees the blocks that are full and read.
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
 * The order of the events of all threads: the time counter that all processors share, in units of
 * WIRE_STAMP_TICKS.  Earlier reads of the thread are completed before the counter is read, so if
 * one thread has waited for another, its stamp is the greater one.
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
 * An event is one word: its kind, the site where the block was allocated (less than
 * WIRE_SITES_MAX_SITES), the lower bits of its stamp, and the bytes that the program requested.
 * For WIRE_LOG_MANY_BYTES or more, the bytes are in the next word.  A time applies to all events
 * that follow in the block, and each block begins with a time: one word, followed by a word with
 * its stamp.  An event that comes WIRE_LOG_FRESH or more after the last time is preceded by a new
 * time.
 *
 * While only the thread of one place appends, its events have the stamp of their time.
 *
 * When the counted memory of a mapping of the program changes, the event has two words.  The first
 * word is that of an allocation of WIRE_LOG_MANY_BYTES or more at the mapping's site; the second
 * word has its kind, one of the last four, and its bytes.
 */
enum wire_log_kind {
	WIRE_LOG_ALLOCATED,
	WIRE_LOG_FREED,
	WIRE_LOG_FREED_SOON, /* temporary, as in struct wire_site */
	WIRE_LOG_TIME,	     /* rest of the word: CLOCK_MONOTONIC in ns, about one tick late */
	WIRE_LOG_MAPPED,     /* a mapping has counted memory, for the first time or again */
	WIRE_LOG_GROWN,	     /* it has more */
	WIRE_LOG_UNMAPPED,   /* it has no counted memory any longer */
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

/* The stamp of the event WORD that follows a time with the stamp TIMES. */
static inline uint64_t
wire_log_stamp(uint64_t word, uint64_t times)
{
	return times + (((word >> WIRE_LOG_STAMP_SHIFT) - times) & WIRE_LOG_STAMP_MASK);
}

/* The number in WORD: the nanoseconds of a time, or the bytes of another event. */
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

/* True if the second word WORD of an event belongs to a mapping: blocks are never that large. */
static inline bool
wire_log_is_mapping(uint64_t word)
{
	return word >> WIRE_LOG_MAPPING_SHIFT >= WIRE_LOG_MAPPED;
}

/* ---- blocks ---- */

/*
 * The owner of blocks with events of mappings.  Threads append to these one at a time, so the
 * events are in the order in which they happened.
 */
#define WIRE_LOG_OWNER_OF_MAPPINGS UINT32_MAX

#define WIRE_LOG_IS_STAMPING (UINT32_C(1) << 31)
#define WIRE_LOG_TOGETHER (UINT32_MAX - 1)

struct wire_log_block {
	/*
	 * 0: free.  Otherwise 1 plus the place in the segment that owns the block, or
	 * WIRE_LOG_OWNER_OF_MAPPINGS.  The agent sets this word and IS_FULL by one compare-and-swap
	 * of 8 bytes.  When IS_FULL is set and all words are read, memdiag clears the members that
	 * follow IS_FULL, and then both words by one write of 8 bytes.  The kernel may copy these
	 * bytes one at a time, in order: IS_FULL remains 1 until no byte is left that would
	 * overwrite a change by the agent.
	 */
	uint32_t owner;
	uint32_t is_full; /* 1: no more words are appended */
	/*
	 * The number of the block among the place's blocks, 1, 2, ... in the order of their words.
	 * It is stored before any word is appended; while it is 0, the block is not read.
	 */
	uint64_t number;
	/*
	 * Number of words so far; an event of two words is added at once.  Stored after the words
	 * (release).  WIRE_LOG_IS_STAMPING is set before an event gets its stamp, and until it is
	 * added.
	 */
	uint32_t nr_words;
	/*
	 * The log's is_open when the block was taken.  The words of an earlier opening are ignored;
	 * the block's thread gives it up with its next event.
	 */
	uint32_t opening;
	uint32_t unused[10];
	uint64_t word[WIRE_LOG_BLOCK_BYTES / 8 - 8];
};

_Static_assert(sizeof(struct wire_log_block) == WIRE_LOG_BLOCK_BYTES, "blocks are not dense");

/* The state of the memdiag that writes the files, for other memdiags.  The agent ignores it. */
struct wire_log_writer {
	uint32_t pid;	    /* in memdiag's PID namespace; 0: no memdiag has written yet */
	uint32_t max_files; /* number of files to keep; any memdiag may change it; 0: the default */
	uint32_t nr_files, nr_removed;
	/*
	 * The errno of the last failed write of a file, or of the failure for which memdiag has
	 * given up; 0: no failure.
	 */
	uint32_t error;
	uint32_t nr_damaged;
	uint32_t has_ended; /* 1: the last file is complete, with all appended events */
	uint32_t unused;
	uint64_t round_ns; /* CLOCK_MONOTONIC of the last write; 0: never */
	/* As in struct log_written. */
	uint64_t nr_events, raw_bytes, file_bytes, nr_lost, nr_unmatched;
	char dir[1024]; /* directory of the files */
	/* As in the head of each file (doc/internals/log.md); unique for each log. */
	uint64_t realtime_ns, opened_ns;
};

struct wire_log {
	uint64_t magic;
	uint32_t nr_blocks;
	/*
	 * 0: no event is appended.  Otherwise the number of this opening, nr_openings. memdiag sets
	 * both, or the agent when it begins.
	 */
	uint32_t is_open;
	/*
	 * 1 plus the only place that appends; its events have the stamp of their time.  Another
	 * place that appends first stores itself here, or WIRE_LOG_TOGETHER if places alternate so
	 * fast that each event has its own stamp.  A thread that changes this value takes a stamp
	 * after that.  From time to time memdiag clears the upper byte of WIRE_LOG_TOGETHER; the
	 * remaining value is not a place.
	 */
	uint32_t alone;
	uint32_t nr_openings;
	/*
	 * Number of blocks that were ever used.  Later blocks take no memory, so do not read them.
	 */
	uint32_t nr_touched;
	uint32_t unused;
	/*
	 * Missing events, and the bytes of their blocks: because no block was free, or for the
	 * reasons of nr_lost, nr_forgotten and no_room in struct wire_sites; also those of
	 * nr_missed and nr_mappings_lost, whose bytes are unknown.
	 */
	uint64_t nr_dropped, dropped_bytes;
	uint64_t opened_ns; /* CLOCK_MONOTONIC of the opening */
	struct wire_log_writer writer;
};

_Static_assert(sizeof(struct wire_log) <= WIRE_LOG_TAKEN_AT, "the bits follow the head");
/* The number of blocks is the number of bytes after the sites divided by the size of a block. */
_Static_assert(WIRE_LOG_HEADER_BYTES < WIRE_LOG_BLOCK_BYTES, "the head is less than a block");

/*
 * Bit I of the array is set if block I was taken.  The bits are only hints; the block's owner
 * decides.  A thread sets the bit before it takes the block. memdiag cannot change a single bit,
 * and writes all of them in each round from the owners that it has read.  So a bit may be clear
 * although its block is taken; the next thread that tries the block sets it.  A bit may also be set
 * although its block is free, until the next round.
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

/* The log of S; NULL if S has no log. */
static inline struct wire_log *
wire_log_of(const struct wire_sites *s)
{
	return s->log_at ? (struct wire_log *)((uintptr_t)s + s->log_at) : NULL;
}

#endif
