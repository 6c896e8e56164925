/*
 * census: the blocks of glibc's malloc in a process as a graph: which block has the address of
 * which, and which are reached from the process's other memory and its registers.  All of it comes
 * from a single stop.
 *
 * A block is a chunk that the program has: not free, and not in a thread's cache.  A pointer is
 * any aligned word with an address from the block's first byte to the end of its usable bytes;
 * struct census_options has words that are not aligned, or carry a tag.  Words that malloc has left
 * in a block are none: CENSUS_LIST_WORDS.
 * Nobody knows types, so a number that looks like an address counts as a pointer: a block that is
 * reached may be lost all the same, and a block that is unreachable has an encoded pointer at most.
 */
#ifndef MEMDIAG_CENSUS_CENSUS_H
#define MEMDIAG_CENSUS_CENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/raddr.h"

struct census_type_table;

struct census_sum {
	uint64_t blocks, bytes; /* usable bytes */
};

/*
 * ---- addresses ----------------------------------------------------------------------------------
 */

/*
 * An address in malloc's memory as 32 bits: the number of a slot of 16 MiB, and the number of a
 * granule, which is as long as malloc aligns blocks.  It takes half of an edge's memory.
 */
#define CENSUS_SLOT_SHIFT 24
#define CENSUS_ADDRESS_BITS 48

struct census_slots {
	/* Number of each slot of the address space, 0: malloc has nothing there. */
	uint16_t *number; /* owned; of 2^(CENSUS_ADDRESS_BITS - CENSUS_SLOT_SHIFT) */
	struct {
		uint64_t *v; /* owned; the address of each slot; the first is not used */
		size_t nr, room;
	} start;
	unsigned int granule_shift;
};

/*
 * ---- blocks -------------------------------------------------------------------------------------
 */

/*
 * Chunks that follow each other in memory: a segment of an arena, or a block with its own mapping.
 * Chunks are numbered in the order in which they were read, so those of an extent are consecutive.
 * The address of a chunk is the program's here: malloc's header is before it.  So the end of a
 * block's usable bytes, and the header of the next chunk, are the block's, too.
 */
struct census_extent {
	raddr start, end;      /* from its first chunk on */
	uint32_t first, nr;    /* its chunks */
	size_t line, nr_lines; /* of the index, up to its last chunk */
};

/*
 * The index: a line for 448 granules, a cache line each.  The chunk that holds an address is RANK,
 * the number of the first chunk that begins in the line, plus the bits up to the address, minus 1.
 */
#define CENSUS_LINE_WORDS 7
#define CENSUS_LINE_GRANULES (64 * CENSUS_LINE_WORDS)

struct census_line {
	uint64_t rank;
	uint64_t bit[CENSUS_LINE_WORDS]; /* 1: a chunk begins */
};

enum census_state {
	CENSUS_BLOCK = 1,   /* else not the program's */
	CENSUS_REACHED = 2, /* from a root */
	CENSUS_SEEN = 4,    /* for the use of one function, which clears it */
	/* Only where contents are wanted: see contents.h. */
	CENSUS_ZERO = 8,
	CENSUS_TEXT = 16,
};

/* A block with pages that are not in memory. */
struct census_partial {
	uint32_t chunk;
	uint64_t resident_bytes; /* of its usable ones */
};

#define CENSUS_NO_CHUNK UINT32_MAX

struct census_chunks {
	unsigned int granule_shift;
	struct {
		struct census_extent *v; /* owned; in the order of reading */
		size_t nr, room;
	} extent;
	struct {
		struct census_line *v; /* owned */
		size_t nr, room;
	} line;
	struct {
		uint8_t *v; /* owned; enum census_state of each chunk */
		size_t nr, room;
	} state;
	/*
	 * Owned; the extents sorted by address, and for each slot the first that ends in or
	 * after it.
	 */
	struct census_extent *by_address;
	uint32_t *first_in_slot;
};

/*
 * ---- edges --------------------------------------------------------------------------------------
 */

/* A chunk with many edges. */
struct census_wide {
	uint32_t chunk, degree;
};

#define CENSUS_WIDE 255
#define CENSUS_GROUP 16

/*
 * The first words of a free chunk are malloc's: fd, bk, fd_nextsize, bk_nextsize (glibc 2.31 to
 * 2.42, malloc/malloc.c, struct malloc_chunk).  They stay when the chunk is handed out, until the
 * program writes there.  They have addresses of chunks' headers, which are the last bytes of the
 * blocks before; so such an address in one of these words is no pointer.
 */
#define CENSUS_LIST_WORDS 4

struct census_edges {
	struct {
		/* Owned; while it is read granules, then numbers of chunks. */
		uint32_t *v;
		size_t nr, room;
	} to;
	struct {
		uint8_t *v; /* owned; number of edges of each chunk, CENSUS_WIDE: see WIDE */
		size_t nr, room;
	} degree;
	struct {
		/*
		 * Owned; of each chunk while it is read, bit I: edge I is one of
		 * CENSUS_LIST_WORDS and may be the address of a chunk's header.
		 */
		uint8_t *v;
		size_t nr, room;
	} header;
	struct {
		struct census_wide *v; /* owned; by chunk */
		size_t nr, room;
	} wide;
	uint64_t *first; /* owned; the first edge of every CENSUS_GROUP chunks */
};

/*
 * ---- roots --------------------------------------------------------------------------------------
 */

enum census_root_kind {
	CENSUS_GLOBAL,	 /* data of the program or a library */
	CENSUS_STACK,	 /* of a thread, with its thread-local storage */
	CENSUS_REGISTER, /* of a stopped thread */
	CENSUS_MAPPING,	 /* any other memory */
	CENSUS_OBJECT,	 /* objects of one type in pools of CPython */
};

/* Memory that holds roots. */
struct census_range {
	raddr start, end; /* 0 for registers and objects */
	enum census_root_kind kind;
	pid_t tid;     /* of STACK and REGISTER; else 0 */
	uint32_t type; /* of OBJECT: the number in the table of types, 0: unknown; else 0 */
};

/* A word that holds the address of a block. */
struct census_root {
	uint64_t at;
	uint32_t to; /* while it is read a granule, then the number of a chunk */
	uint32_t range;
};

struct census_roots {
	struct {
		struct census_range *v; /* owned */
		size_t nr, room;
	} range;
	struct {
		struct census_root *v; /* owned */
		size_t nr, room;
	} root;
	uint64_t bytes; /* bytes of memory that were read */
	size_t nr_threads;
};

/*
 * ---- fronts -------------------------------------------------------------------------------------
 */

/* The most first words of a block that a rule needs: those of a context of PostgreSQL 15. */
#define CENSUS_FIRST_WORDS 20

/* Kinds of memory that its own words prove; a bit each. */
enum census_rule {
	CENSUS_RULE_CONTEXT = 1,       /* a memory context of PostgreSQL, with its first block */
	CENSUS_RULE_CONTEXT_BLOCK = 2, /* of a context that is no slab */
	CENSUS_RULE_SLAB_BLOCK = 4,
	CENSUS_RULE_NGINX = 8,	   /* a block of a pool of nginx */
	CENSUS_RULE_APR = 16,	   /* a node of an allocator of the Apache Portable Runtime */
	CENSUS_RULE_MEM_ROOT = 32, /* a block of a MEM_ROOT of MariaDB */
	CENSUS_RULE_DEFLATE = 64,  /* the state of a zlib stream */
	CENSUS_RULE_INFLATE = 128,
	CENSUS_RULE_OBSTACK = 256, /* a chunk of an obstack */
};

/* The first words of a block that rules may apply to, as they were in the stop. */
struct census_front {
	raddr start;
	uint64_t bytes; /* usable */
	uint32_t chunk;
	uint16_t rules;			   /* those that its first words allow */
	bool is_mapped;			   /* it has its own mapping */
	bool is_paired;			   /* another word that should have its address has it */
	uint64_t word[CENSUS_FIRST_WORDS]; /* those after its end are 0 */
};

/*
 * ---- the census ---------------------------------------------------------------------------------
 */

/* The type of a chunk: its number in the table of types, and the word that shows it. */
#define CENSUS_TYPE_BITS 29
#define CENSUS_TYPE_MASK ((UINT32_C(1) << CENSUS_TYPE_BITS) - 1)

/* How a census is read. */
struct census_options {
	uint64_t max_stop_ns; /* at a time; 0: the process is not stopped */
	bool is_unaligned;    /* a word may begin at every fourth byte */
	bool masks_tags;      /* the high 16 bits of a word are no part of the address */
	bool wants_hashes;    /* for census_looks_add() */
	bool wants_contents;  /* for census_contents_find() */
	const struct census_type_table *types; /* NULL: types are not looked for */
	unsigned int rules; /* of enum census_rule, for which fronts are kept; 0 without types */
	/* Memory that is not the program's: the NR_SKIPS ranges at SKIP hold no roots. */
	const struct census_skip {
		raddr start, end;
	} * skip;
	size_t nr_skips;
	/*
	 * Called when all was read and the process runs again, before it is evaluated; NULL: not
	 * called.
	 */
	void (*after)(void *arg);
	void *arg;
};

struct census {
	unsigned int word_bytes, step_bytes; /* a word may begin at each step */
	uint64_t word_mask;		     /* the bits of a word that are an address */
	struct census_slots slots;
	struct census_chunks chunks;
	struct census_edges edges;
	struct census_roots roots;
	/*
	 * Objects in pools of CPython, and free blocks in them; they are not blocks of malloc.
	 * Only where types are looked for: of each type in the table, unknown ones at 0.
	 */
	struct {
		struct census_sum *v; /* owned */
		size_t nr;
		struct census_sum all;
		uint64_t free_bytes;
	} pooled;
	struct {
		uint32_t *v; /* owned; of each chunk; nr is 0 if types were not looked for */
		size_t nr, room;
	} type_of;
	struct {
		struct census_front *v; /* owned; by chunk */
		size_t nr, room;
	} front;
	struct {
		uint32_t *v; /* owned; of the contents of each chunk, if wanted */
		size_t nr, room;
	} hash;
	/* All other blocks are in memory as a whole, if KNOWS_PAGES. */
	struct {
		struct census_partial *v; /* owned; by chunk */
		size_t nr, room;
	} partial;
	bool knows_pages; /* false: all blocks count as if they were in memory */
	struct census_sum in_use, reached;
	/* Bytes that were present or in swap and could not be read; then nothing is certain. */
	uint64_t unread_bytes, swapped_bytes;
	uint64_t late_bytes; /* of shared memory that were read after a copy was made */
	char why[200];	     /* why it is not certain; "" if it is */
};

#endif
