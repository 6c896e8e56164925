/*
 * heap: glibc malloc's heaps, read from memory without executing an instruction in the target.
 * malloc-info.h has malloc's own account of them.
 */
#ifndef MEMDIAG_HEAP_HEAP_H
#define MEMDIAG_HEAP_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/raddr.h"
#include "glibc/arena-heaps.h"
#include "glibc/layout.h"

/* The certainty of a number. */
enum heap_certainty {
	HEAP_APPROXIMATE, /* a check failed, or some data could not be read */
	/*
	 * all checks passed, but it was not stopped, its lock was taken, others have pages in its
	 * mappings, or the threads' caches are unknown
	 */
	HEAP_CONSISTENT,
	/* all threads were stopped, no thread held its lock, all checks passed */
	HEAP_EXACT,
};

struct heap_sum {
	uint64_t count, bytes; /* chunks, with their headers */
};

/*
 * A resident page of an arena has exactly one of these classes; RETURNED and RESERVED are not
 * resident.
 */
enum heap_page_class {
	HEAP_PAGE_LIVE,	     /* entirely in use */
	HEAP_PAGE_MIXED,     /* partly in use; or free with a header that must stay */
	HEAP_PAGE_TRIMMABLE, /* released by malloc_trim(0) */
	/* only chunks of tcaches and fast bins, and free ones */
	HEAP_PAGE_CACHED,
	/*
	 * in a top chunk, and kept by malloc_trim(0): of thread arenas, and of the main one when it
	 * does not end where brk does
	 */
	HEAP_PAGE_TOP,
	/* after the end of a heap that has shrunk, if memory is locked */
	HEAP_PAGE_BEHIND,
	HEAP_PAGE_RETURNED, /* free and not resident */
	HEAP_PAGE_RESERVED, /* address space that the arena has not used yet */
	NR_HEAP_PAGE_CLASSES,
};

/* The chunks of a bin, as in malloc_info's <size> line. */
struct heap_bin {
	uint64_t count;
	uint64_t total_bytes; /* sums and limits of the raw size words, including flag bits, as */
	uint64_t from_bytes, to_bytes; /* malloc_info prints them */
};

#define HEAP_NR_BINS 127 /* bin 0 here is bin 1 of glibc: the unsorted one */

/* Chunks by size: steps of 16 bytes to 1 KiB, then a class for each power of two. */
#define HEAP_NR_SIZES 96

struct heap_chunk {
	raddr addr; /* of its header; the program's pointer is two words further */
	uint64_t bytes;
};

/* A contiguous piece of an arena: a heap, or memory of the main arena from brk or a mapping. */
struct heap_segment {
	raddr start, end; /* from its first chunk to its end; without headers */
	struct heap_sum in_use, free;
	struct heap_chunk last_in_use; /* keeps it from shrinking; bytes 0: no chunk in use */
	uint64_t below_bytes;	       /* free or cached directly below that chunk */
};

#define HEAP_NR_LARGEST 16

/* Whole pages. */
struct heap_range {
	raddr start, end;
};

struct heap_arena {
	raddr addr;
	unsigned int nr; /* in malloc_info's order */
	bool is_main;
	enum heap_certainty certainty;
	char why[160]; /* why it is not exact; "" if it is */
	/*
	 * chunks in use were not read: used_size, the counts of in_use, and the last chunks of
	 * segments are unknown
	 */
	bool is_by_lists;
	/* others have pages in its mappings: resident bytes are upper bounds */
	bool has_neighbours;
	/* it has pages of the hugetlb pool: resident, but not in RSS */
	bool is_hugetlb;
	int attached;	    /* threads, by malloc's count; -1 before 2.23 */
	bool is_contiguous; /* brk serves all of it; thread arenas: true */
	uint64_t system_bytes, max_system_bytes;
	uint64_t found_bytes;	 /* part of system_bytes that was found and read */
	uint64_t mprotect_bytes; /* of all heaps; equals system_bytes for the main arena */
	struct heap_chunk top;
	struct heap_sum in_use; /* including tcaches, as malloc counts */
	struct heap_sum cached; /* the part of in_use in tcaches */
	struct heap_sum fast, binned;
	/* heap_infos, malloc_state, fence posts, and foreign.bytes */
	uint64_t overhead_bytes;
	/*
	 * Memory that other users took from brk between two parts of the main arena; malloc counts
	 * it as its own.
	 */
	struct {
		uint64_t bytes, resident_bytes;
	} foreign;
	struct heap_bin fastbin[MALLOC_NR_FASTBINS], bin[HEAP_NR_BINS];
	struct heap_sum used_size[HEAP_NR_SIZES], free_size[HEAP_NR_SIZES];
	struct heap_chunk largest[HEAP_NR_LARGEST]; /* free, largest first; bytes 0 ends it */
	struct {
		struct heap_segment *v; /* owned; oldest first */
		size_t nr, room;
	} segment;
	/* pages; zeroes, with has_pages false, if unknown */
	bool has_pages;
	uint64_t page_bytes[NR_HEAP_PAGE_CLASSES];
	uint64_t resident_bytes, swapped_bytes;
	/* bytes in use on resident pages, without cached ones */
	uint64_t live_resident_bytes;
	uint64_t stranded_bytes;    /* free bytes on MIXED and CACHED pages */
	struct {		    /* the effect of malloc_trim() */
		uint64_t rss_bytes; /* decrease of RSS */
		uint64_t uss_bytes; /* the part of it that no other process shares; see has_uss */
		uint64_t swap_bytes;
		uint64_t lock_ns;	/* how long the arena's lock is held, estimated */
		uint64_t mlocked_bytes; /* would be released as well if not locked */
		/*
		 * The part of rss_bytes on huge pages that are only partly freed: the kernel keeps
		 * them whole until memory is short.
		 */
		uint64_t huge_bytes;
		struct {
			/* owned; ranges for madvise(), the last may be brk's */
			struct heap_range *v;
			size_t nr, room;
		} range;
	} trim;
	struct heap_range top_pages; /* whole pages of the top chunk that malloc_trim() leaves */
};

/* A thread's cache. */
struct heap_thread {
	pid_t tid;	/* 0: the owner is unknown */
	raddr arena;	/* 0: no arena yet */
	bool has_cache; /* it has a cache, in one of malloc's chunks */
	struct heap_sum cached;
};

struct heap {
	struct malloc_layout layout;
	struct {
		struct heap_arena *v; /* owned; in malloc_info's order */
		size_t nr, room;
	} arena;
	struct {
		struct heap_thread *v;
		size_t nr, room;
	} thread;
	bool knows_caches; /* false: cached chunks count as in use */
	/* threads whose caches are unknown, if others are known */
	size_t nr_unknown_caches;
	enum heap_certainty certainty; /* of the least certain arena */
	bool is_ring_closed;	       /* false: memory is damaged, and arenas may be missing */
	struct stray_heaps strays;     /* heaps without an arena; see arenas_find_strays() */
	bool has_uss;
	/* a core file without holes: zero pages may also have been resident */
	bool is_resident_least;
	bool knows_huge; /* huge_bytes of the arenas' trim are set */
	/*
	 * reads of arenas; threads are from the last one, so that after several reads the caches
	 * need not add up
	 */
	unsigned int nr_looks;
	unsigned int nr_stops;
	uint64_t stopped_ns, longest_stop_ns;
	uint64_t nr_chunks, read_bytes; /* for --verbose and the benchmark */
};

/* The default limit of one stop of a target. */
#define HEAP_DEFAULT_STOP_NS (UINT64_C(200) * 1000000)

#endif
