/*
 * heap-priv: declarations shared by the files that read heaps.
 *
 *	read.c		the target: stops, retries, all arenas
 *	arena.c		one arena: its header, its segments, checks of the whole
 *	scan.c		the scan of one arena: shared by the files below
 *	marks.c		free chunks that were found in lists
 *	walk.c		one segment, chunk by chunk
 *	lists.c		malloc's lists of free chunks
 *	runs.c		a long unsorted bin, as the walk shows it
 *	tcache.c	the threads' caches
 *	pages.c		the use of each page, and what malloc_trim() would release
 *	trim.c		the effect of that: on shared and huge pages, and in time
 *	memory.c	the target's present memory
 *	read-ahead.c	memory that a separate thread reads
 *	copies.c	the memory that was read last
 */
#ifndef MEMDIAG_HEAP_HEAP_PRIV_H
#define MEMDIAG_HEAP_HEAP_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/raddr.h"
#include "base/word.h"
#include "elf/regions.h"
#include "glibc/arenas.h"
#include "glibc/layout.h"
#include "glibc/pieces.h"
#include "heap/heap.h"

struct heap_visitor;
struct os_pages;
struct target;

/* Flags in the low bits of a chunk's size (malloc/malloc.c). */
#define PREV_INUSE UINT64_C(1)
#define IS_MMAPPED UINT64_C(2)
#define NON_MAIN_ARENA UINT64_C(4)
#define FLAG_BITS UINT64_C(7)

/* struct malloc_chunk: prev_size, size, fd, bk, fd_nextsize, bk_nextsize. */
#define CHUNK_WORDS 6

/* ---- the target's memory --------------------------------------------------------------------- */

struct page_run {
	raddr start, end;
	bool is_present; /* else swapped */
};

/* Runs of pages, sorted; pages that are neither present nor swapped are in no run. */
struct page_runs {
	struct page_run *v; /* owned */
	size_t nr, room;
};

/* ---- marks: free chunks that were found in lists --------------------------------------------- */

enum mark_kind {
	MARK_TCACHE,
	MARK_FAST,
	MARK_UNSORTED,
	MARK_BINNED,
	MARK_TOP,
	MARK_FENCE, /* not a chunk, but the end of a heap */
};

struct mark {
	uint64_t chunk_and_kind; /* chunks are aligned, so the kind fits into the low bits */
	uint64_t raw;		 /* its size word */
};

static inline uint64_t
mark_chunk(const struct mark *m)
{
	return m->chunk_and_kind & ~FLAG_BITS;
}

static inline enum mark_kind
mark_kind(const struct mark *m)
{
	return (enum mark_kind)(m->chunk_and_kind & FLAG_BITS);
}

struct marks {
	struct mark *v; /* owned */
	size_t nr, room;
};

/* ---- the reader ------------------------------------------------------------------------------ */

/* Memory that madvise() does not release: mlock(), mlockall(). */
struct mlocked {
	struct heap_range *v; /* owned; sorted */
	size_t nr, room;
};

#define NR_GROUPS 512
#define GROUP_PAGES 64

struct reader {
	const struct target *t;
	const struct regions *m; /* at the time of the read */
	const struct malloc_layout *l;
	const struct arenas *arenas;
	struct main_pieces pieces; /* owned; for a main arena in several pieces */
	/* incomplete or unknown: search for the pieces before the next stop */
	bool wants_pieces;
	struct os_pages *pages; /* NULL: present pages are unknown */
	struct marks cached;	/* of all threads, sorted */
	struct mlocked mlocked;
	uint64_t pad_bytes; /* argument of malloc_trim() */
	bool with_tops;	    /* release the tops of thread arenas, too */
	uint64_t page_bytes;
	uint64_t deadline_ns;	 /* 0: no deadline.  Reading stops when it has passed */
	bool is_late;		 /* the deadline has passed */
	const char *doubt;	 /* why the present read cannot be exact; NULL if it can */
	const char *cache_doubt; /* why CACHED is wrong; NULL if it is right */
	bool is_stopped;	 /* all threads are stopped */
	struct page_group {
		uint64_t start, page_bytes; /* 0: not read yet */
		uint64_t present, swapped;  /* bits */
	} group[NR_GROUPS];		    /* in this read, indexed by address */
	struct scan *unfinished;	    /* owned; a chain */
	bool has_no_walk; /* the present arena is too large to be walked in a stop */
	struct heap *heap;
	const struct heap_visitor *visitor; /* NULL: only headers are read */
};

/* Return the word of the target at AT in a copy. */
static inline uint64_t
word_in(const struct reader *r, const char *at)
{
	return word_from(at, r->l->word_bytes);
}

/* Return the size of the smallest chunk. */
static inline uint64_t
min_chunk_bytes(const struct malloc_layout *l)
{
	return 4 * l->word_bytes;
}

/*
 * ---- the scan of one arena ----------------------------------------------------------------------
 */

#define STATE_MAX 4096

/* Sums over all free chunks and bins; they are equal if each is linked to by one other. */
struct link_sums {
	uint64_t self, fd, bk;
};

static inline uint64_t
link_mix(uint64_t v)
{
	v *= UINT64_C(0x9e3779b97f4a7c15);
	return v ^ v >> 32;
}

static inline void
link_sums_add(struct link_sums *s, uint64_t self, uint64_t fd, uint64_t bk)
{
	s->self += link_mix(self);
	s->fd += link_mix(fd);
	s->bk += link_mix(bk);
}

/* Free chunks that are consecutive in memory and in their list. */
struct free_run {
	uint64_t low, high;   /* the first and the last in memory */
	uint64_t entry, exit; /* the first in the list, and the one that the last leads to */
	struct heap_bin sums;
	unsigned int bin; /* the bin of all of them by size; 0: several bins */
	bool is_unsorted;
};

struct free_runs {
	struct free_run *v; /* owned */
	size_t nr, room;
	bool is_used;
	bool has_too_many;
	bool is_open;		   /* the last run may continue */
	uint64_t last_fd, last_bk; /* links of its highest chunk */
};

struct scan {
	struct scan *next; /* in the chain of unfinished scans */
	struct reader *r;
	const struct arena *known; /* as in maps/ */
	struct heap_arena *arena;
	char state[STATE_MAX]; /* a copy of its malloc_state */
	struct {
		struct stretch {
			struct page_runs runs;
			/*
			 * The chunks in fast bins and in the unsorted bin: a bit for every place
			 * where a chunk can begin.  It takes less than 1 % of the heap; a list of
			 * them could take a tenth.
			 */
			uint64_t *map; /* NULL while it is empty, and when reading by lists */
		} * v;
		size_t nr, room;
	} stretch; /* parallel to the arena's segments */
	uint64_t nr_unsorted;
	struct free_runs runs; /* used if the unsorted bin is too long to be followed */
	bool follows_unsorted; /* follow it anyway: it had too many runs */
	struct marks marks;    /* by lists: all free chunks and top, sorted */
	/* a walk replaces the lists when one of these is reached */
	uint64_t max_marks, max_read_bytes;
	bool has_too_many;    /* a limit was reached */
	uint64_t nr_taken;    /* number of the marks in the segments */
	uint64_t fence_bytes; /* at the ends of segments */
	struct link_sums sums;
	bool is_in_pieces; /* the main arena, with memory of others between pieces */
	/* some pieces are missing: mappings that lists lead to are used */
	bool is_rough;
	uint64_t pieces_bytes; /* bytes of the pieces that were found */
	/* time was too short; the scan is freed without being finished */
	bool is_cut;
};

/* Return the bit of the chunk at ADDR in segment SEG. */
static inline uint64_t
map_bit(const struct scan *s, size_t seg, uint64_t addr)
{
	return (addr - s->arena->segment.v[seg].start.v) / s->r->l->align_bytes;
}

static inline bool
is_marked(const struct scan *s, size_t seg, uint64_t addr)
{
	uint64_t bit = map_bit(s, seg, addr);

	return s->stretch.v[seg].map && s->stretch.v[seg].map[bit / 64] >> bit % 64 & 1;
}
/* The cost of reading a whole copy, in pages. */
#define NR_SINGLE 8

/*
 * Maximum number of chunks that reading an arena by its lists stores, whatever a walk would cost,
 * and as many again while they are sorted: 48 MiB.  The walk needs a bit for 16 bytes of the heap
 * instead.
 */
#define MARKS_MAX (UINT64_C(3) << 19)

#endif
