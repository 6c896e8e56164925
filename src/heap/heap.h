/*
 * heap: glibc malloc's heaps, read from memory without running one instruction in the target.
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

/* How much a number can be trusted. */
enum heap_certainty {
	HEAP_APPROXIMATE, /* a check failed, or not all could be read */
	/*
	 * all checks passed, but it was not stopped, its lock was taken, others have pages in its
	 * mappings, or it is not known what threads have cached
	 */
	HEAP_CONSISTENT,
	/* all threads stood still, no thread held its lock, all checks passed */
	HEAP_EXACT,
};

struct heap_sum {
	uint64_t count, bytes; /* chunks, with their headers */
};

/*
 * A page of an arena that is resident is of exactly one of these; RETURNED and RESERVED are not
 * resident.
 */
enum heap_page_class {
	HEAP_PAGE_LIVE,	     /* in use, all of it */
	HEAP_PAGE_MIXED,     /* in use in part; or free with a header that must stay */
	HEAP_PAGE_TRIMMABLE, /* malloc_trim(0) gives it back */
	/* nothing on it but chunks of tcaches and fast bins, and free ones */
	HEAP_PAGE_CACHED,
	HEAP_PAGE_TOP, /* in a top chunk, and kept by malloc_trim(0): of thread arenas, and
				 * of the main one when it does not end where brk does */
	/* behind the end of a heap that has shrunk: locked memory stays then */
	HEAP_PAGE_BEHIND,
	HEAP_PAGE_RETURNED, /* free and not resident */
	HEAP_PAGE_RESERVED, /* address space that the arena has not used yet */
	NR_HEAP_PAGE_CLASSES,
};

/* Chunks of malloc_info's <size> line: of one bin. */
struct heap_bin {
	uint64_t count;
	uint64_t total_bytes; /* sums and ends of the raw size words, flag bits included, as */
	uint64_t from_bytes, to_bytes; /* malloc_info prints them */
};

#define HEAP_NR_BINS 127 /* bin 0 here is bin 1 of glibc: the unsorted one */

/* Chunks by size: steps of 16 bytes to 1 KiB, then a class for each power of two. */
#define HEAP_NR_SIZES 96

struct heap_chunk {
	raddr addr; /* of its header; the program's pointer is two words further */
	uint64_t bytes;
};

/* A contiguous piece of an arena: a heap, or what brk or a mapping gave the main arena. */
struct heap_segment {
	raddr start, end; /* from its first chunk to where it ends; headers are outside */
	struct heap_sum in_use, free;
	struct heap_chunk last_in_use; /* what keeps it from shrinking; bytes 0: nothing */
	uint64_t below_bytes;	       /* free or cached right below that chunk */
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
	char why[160]; /* it is not exact; "" if it is */
	/*
	 * chunks in use were not looked at: used_size, the counts of in_use, and what pins segments
	 * are not known
	 */
	bool is_by_lists;
	bool has_neighbours; /* others have pages in its mappings: what is resident is at
					 * most what is said */
	/* it has pages of the hugetlb pool: resident, but not in RSS */
	bool is_hugetlb;
	int attached;	    /* threads, by malloc's count; -1 before 2.23 */
	bool is_contiguous; /* brk's only; thread arenas: true */
	uint64_t system_bytes, max_system_bytes;
	uint64_t found_bytes;	 /* of system_bytes: what was found and looked at */
	uint64_t mprotect_bytes; /* of all heaps; system_bytes for the main arena */
	struct heap_chunk top;
	struct heap_sum in_use; /* with what tcaches hold, as malloc counts */
	struct heap_sum cached; /* of which in tcaches */
	struct heap_sum fast, binned;
	/* heap_infos, malloc_state, fence posts, and foreign.bytes */
	uint64_t overhead_bytes;
	/*
	 * The memory that other users took from brk between two parts of the main arena; malloc
	 * counts it as its own.
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
	/* pages; zeroes, with has_pages false, if they are unknown */
	bool has_pages;
	uint64_t page_bytes[NR_HEAP_PAGE_CLASSES];
	uint64_t resident_bytes, swapped_bytes;
	/* bytes in use on resident pages, cached ones not counted */
	uint64_t live_resident_bytes;
	uint64_t stranded_bytes;    /* free bytes on MIXED and CACHED pages */
	struct {		    /* what malloc_trim() does here */
		uint64_t rss_bytes; /* RSS falls by */
		uint64_t uss_bytes; /* of which no other process has the pages; see has_uss */
		uint64_t swap_bytes;
		uint64_t lock_ns;	/* the arena's lock is held, estimated */
		uint64_t mlocked_bytes; /* would go as well, but for mlock() */
		/*
		 * The part of rss_bytes on huge pages that are only partly freed: the kernel keeps
		 * them whole until it is short of memory.
		 */
		uint64_t huge_bytes;
		struct {
			struct heap_range *v; /* owned; madvise() each, the last may be brk's */
			size_t nr, room;
		} range;
	} trim;
	struct heap_range top_pages; /* whole pages of the top chunk that it leaves */
};

/* A thread's cache. */
struct heap_thread {
	pid_t tid;	/* 0: the owner is unknown */
	raddr arena;	/* 0: none yet */
	bool has_cache; /* it has one, in a chunk of malloc's own */
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
	bool knows_caches; /* false: what threads have cached counts as in use */
	/* threads of which that is not known, though of others it is */
	size_t nr_unknown_caches;
	enum heap_certainty certainty; /* of the least certain arena */
	bool is_ring_closed;	       /* false: memory is damaged, and arenas may lack */
	struct stray_heaps strays;     /* which no arena here has; see arenas_find_strays() */
	bool has_uss;
	/* a core file without holes: zero pages may have been resident, too */
	bool is_resident_least;
	bool knows_huge; /* huge_bytes of the arenas' trim are filled */
	/*
	 * in which arenas were read; threads are as in the last, so that with more than one what
	 * they have cached need not add up
	 */
	unsigned int nr_looks;
	unsigned int nr_stops;
	uint64_t stopped_ns, longest_stop_ns;
	uint64_t nr_chunks, read_bytes; /* for --verbose and the benchmark */
};

/* The default limit of one stop of a target. */
#define HEAP_DEFAULT_STOP_NS (UINT64_C(200) * 1000000)

#endif
