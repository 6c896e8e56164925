/*
 * heap-priv: what the files that read heaps share.
 *
 *	read.c		the target: stops, tries again, all arenas
 *	arena.c		one arena: its header, its segments, the proof of the whole
 *	scan.c		the look at one arena: what the files below share
 *	marks.c		free chunks that were found in lists
 *	walk.c		one segment, chunk by chunk
 *	lists.c		malloc's lists of free chunks
 *	runs.c		of a long unsorted bin what the walk shows
 *	tcache.c	the threads' caches
 *	pages.c		what each page is for, and what malloc_trim() would give back
 *	trim.c		what that means: for others, for huge pages, and in time
 *	memory.c	the target's memory, as far as it is present
 *	copies.c	what was read of it last
 */
#ifndef MEMDIAG_HEAP_HEAP_PRIV_H
#define MEMDIAG_HEAP_HEAP_PRIV_H

#include "base/word.h"
#include "glibc/chunks.h"
#include "heap/heap.h"

struct os_pages;
struct target;

/* Flags in the low bits of a chunk's size (malloc/malloc.c). */
#define PREV_INUSE UINT64_C(1)
#define IS_MMAPPED UINT64_C(2)
#define NON_MAIN_ARENA UINT64_C(4)
#define FLAG_BITS UINT64_C(7)

/* struct malloc_chunk: prev_size, size, fd, bk, fd_nextsize, bk_nextsize. */
#define CHUNK_WORDS 6

/* ---- memory.c: the target's memory ----------------------------------------------------------- */

struct page_run {
	raddr start, end;
	bool is_present; /* else swapped */
};

/* Runs of pages, sorted; those that are neither present nor swapped are in none. */
struct page_runs {
	struct page_run *v; /* owned */
	size_t nr, room;
};

/* The index of the first that ends behind ADDR. */
size_t page_runs_from(const struct page_runs *runs, uint64_t addr);

/* A stretch of memory that is read in order of address, in pieces that suit how it is used. */
struct window {
	const struct target *t;
	struct os_pages *pages; /* NULL: owner unknown */
	const struct page_runs *runs;
	size_t at_run;	     /* the first that may hold what comes next */
	char *buf;	     /* owned */
	uint64_t start, end; /* what is in BUF */
	size_t want_bytes;   /* to read next */
	size_t nr_hits;	     /* looks into what is in BUF */
	uint64_t read_bytes;
	size_t nr_reads;
};

struct reader;
int window_open(
	struct window *w, const struct reader *r, const struct page_runs *runs, struct err *e);
void window_close(struct window *w);
#define auto_window __attribute__((cleanup(window_close)))

/* The slow half of window_at(). */
const char *window_move(struct window *w, uint64_t addr, size_t size);

/* Whether SIZE bytes at ADDR are in it now. */
static inline bool
window_has(const struct window *w, uint64_t addr, size_t size)
{
	return addr >= w->start && addr + size <= w->end;
}

/*
 * SIZE bytes at ADDR, good until the next call, or NULL when their page is not present or cannot be
 * read.  ADDR never goes down.
 */
static inline const char *
window_at(struct window *w, uint64_t addr, size_t size)
{
	if (window_has(w, addr, size)) {
		w->nr_hits++;
		return w->buf + (addr - w->start);
	}
	return window_move(w, addr, size);
}

/* ---- marks: free chunks that were found in lists --------------------------------------------- */

enum mark_kind {
	MARK_TCACHE,
	MARK_FAST,
	MARK_UNSORTED,
	MARK_BINNED,
	MARK_TOP,
	MARK_FENCE, /* no chunk, but the end of a heap */
};

struct mark {
	uint64_t chunk_and_kind; /* chunks are aligned, so the kind fits in the low bits */
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

struct reader;
int marks_add(struct marks *m, uint64_t chunk, uint64_t raw, enum mark_kind kind, struct err *e);
/* No pages are left if the reader runs out of time before it is done.  0, or -1 with E. */
int marks_sort(struct marks *m, struct reader *r, struct err *e);
/* The index of the first at or above ADDR. */
size_t marks_from(const struct marks *m, uint64_t addr);

/* ---- trim.c: what malloc_trim() would do ----------------------------------------------------- */

/* Memory that stays whatever madvise() says: mlock(), mlockall(). */
struct mlocked {
	struct heap_range *v; /* owned; sorted */
	size_t nr, room;
};

/* List it; nothing is asked for a process that has none.  0, or -1 with E. */
int mlocked_find(struct mlocked *l, const struct target *t, struct err *e);

/* The start of the first one in [LO, HI), HI if none. */
uint64_t mlocked_from(const struct mlocked *l, uint64_t lo, uint64_t hi);

/* ---- the reader ------------------------------------------------------------------------------ */

enum page_presence {
	PAGE_NONE, /* not present, or nothing that malloc can have */
	PAGE_SWAPPED,
	PAGE_PRESENT,
};

#define NR_GROUPS 512
#define GROUP_PAGES 64

struct scan;

struct reader {
	const struct target *t;
	const struct regions *m; /* of the time of the read */
	const struct malloc_layout *l;
	const struct arenas *arenas;
	struct main_pieces pieces; /* owned; of a main arena that is not in one piece */
	/* incomplete or unknown: search for them before the next stop */
	bool wants_pieces;
	struct os_pages *pages; /* NULL: present pages are unknown */
	struct marks cached;	/* of all threads, sorted */
	struct mlocked mlocked;
	uint64_t pad_bytes; /* what malloc_trim() would be given */
	bool with_tops;	    /* tops of thread arenas are to go back, too */
	uint64_t page_bytes;
	uint64_t deadline_ns;	 /* 0: none.  When it is past, what is being read is left */
	bool is_late;		 /* that happened */
	const char *doubt;	 /* why nothing that is read now can be exact; NULL if it can */
	const char *cache_doubt; /* why CACHED is not right; NULL if it is */
	bool is_stopped;	 /* all threads stand still */
	struct page_group {
		uint64_t start, page_bytes; /* 0: not asked for */
		uint64_t present, swapped;  /* bits */
	} group[NR_GROUPS];		    /* in this read, each at the place its address says */
	struct scan *unfinished;	    /* owned; a chain of them */
	bool has_no_walk; /* the arena that is read now is too large to be walked in a stop */
	struct heap *heap;
};

/* The word of the target at AT in a copy. */
static inline uint64_t
word_in(const struct reader *r, const char *at)
{
	return word_from(at, r->l->word_bytes);
}

/* The smallest chunk. */
static inline uint64_t
min_chunk_bytes(const struct malloc_layout *l)
{
	return 4 * l->word_bytes;
}

/* Whether the time is used up; reads the clock only now and then. */
bool reader_is_late(struct reader *r);

/* Whether the page of ADDR can be malloc's and can be read without a change to the target. */
enum page_presence reader_page(struct reader *r, uint64_t addr);

/* Whether the SIZE bytes at ADDR, a page at most, begin or end in a page of malloc's in swap. */
bool reader_is_swapped(struct reader *r, uint64_t addr, size_t size);

/* Copy SIZE bytes at ADDR, a page at most, if that can be done so. */
bool reader_look(struct reader *r, uint64_t addr, void *to, size_t size);

/*
 * The writable private memory around ADDR with one name or without a name, whether or not the
 * kernel has merged it to one mapping (after fork() it does not), without heaps of thread arenas;
 * {0, 0} if none.
 */
struct heap_range reader_mapping(const struct reader *r, uint64_t addr);

/*
 * The end of the memory that can be malloc's and begins at or before ADDR; ADDR if it is not in
 * such memory.
 */
uint64_t reader_memory_end(const struct reader *r, uint64_t addr);

/* The size of the page at ADDR if it comes from the hugetlb pool; else 0. */
uint64_t reader_hugetlb_page(const struct reader *r, uint64_t addr);

/*
 * Add to RUNS those in [START, END) that can be malloc's; some may lack when the reader is late
 * then.
 */
int reader_add_runs(
	struct reader *r, struct page_runs *runs, uint64_t start, uint64_t end, struct err *e);

/* The whole pages of a top chunk at TOP that ends at END, behind its header; maybe none. */
struct heap_range top_pages(
	const struct malloc_layout *l, uint64_t page_bytes, uint64_t top, uint64_t end);

/*
 * Complete the forecast of all arenas: how long their locks are held, which pages are huge and, if
 * WANT_USS, which pages no other process shares.
 */
void trim_forecast(struct reader *r, bool want_uss);

/* ---- the look at one arena ------------------------------------------------------------------- */

#define STATE_MAX 4096

/* The sums over all free chunks and bins that agree when each is linked to by one other. */
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

/* Free chunks that follow each other in memory and in their list. */
struct free_run {
	uint64_t low, high;   /* the first and the last of them in memory */
	uint64_t entry, exit; /* the first of them in the list, and what the last one leads to */
	struct heap_bin sums;
	unsigned int bin; /* that all of them have by their size; 0: they have several */
	bool is_unsorted;
};

struct free_runs {
	struct free_run *v; /* owned */
	size_t nr, room;
	bool is_used;
	bool has_too_many;
	bool is_open;		   /* the last may go on */
	uint64_t last_fd, last_bk; /* links of its highest chunk */
};

struct scan {
	struct scan *next; /* in a chain of the unfinished */
	struct reader *r;
	const struct arena *known; /* as maps/ has it */
	struct heap_arena *arena;
	char state[STATE_MAX]; /* a copy of its malloc_state */
	struct {
		struct stretch {
			struct page_runs runs;
			/*
			 * The chunks in fast bins and in the unsorted bin: a bit for every place
			 * where a chunk can begin. It takes less than 1 % of the heap; a list of
			 * them could take a tenth.
			 */
			uint64_t *map; /* NULL while it is empty, and by lists */
		} * v;
		size_t nr, room;
	} stretch; /* parallel to the arena's segments */
	uint64_t nr_unsorted;
	struct free_runs runs; /* in use if the unsorted bin is too long to be followed */
	bool follows_unsorted; /* it is followed all the same: there were too many runs */
	struct marks marks;    /* by lists: all free chunks and top instead, sorted */
	/* the lists are given up for a walk when one is reached */
	uint64_t max_marks, max_read_bytes;
	bool has_too_many;    /* that has happened */
	uint64_t nr_taken;    /* of these, in the segments */
	uint64_t fence_bytes; /* at the ends of segments */
	struct link_sums sums;
	bool is_in_pieces; /* the main arena, with memory of others in between */
	/* not all of these were found: what lists lead to is taken by mappings */
	bool is_rough;
	uint64_t pieces_bytes; /* of those that were found */
	/* there was no time for all of it; to be freed later takes none either */
	bool is_cut;
};

/* The start of brk's memory, as malloc remembers or the kernel's name shows; 0: unknown. */
uint64_t brk_start(const struct reader *r);

/* The bytes that the main arena of A has by its own account; 0 if that cannot be read. */
uint64_t main_system_bytes(const struct reader *r, const struct arenas *a);

/*
 * For an arena in pieces: add the mapping of ADDR as a piece, unless it is one already. Returns 0,
 * or -1 with E.
 */
int scan_add_piece(struct scan *s, uint64_t addr, struct err *e);

/* Add [START, END) to the arena's segments.  0, or -1 with E. */
int scan_add_segment(struct scan *s, uint64_t start, uint64_t end, struct err *e);

/* The first chunk at or above ADDR whose block is aligned. */
uint64_t scan_align_chunk(const struct malloc_layout *l, uint64_t addr);

/* The segment of the arena that holds ADDR, or -1. */
ssize_t segment_at(const struct heap_arena *arena, uint64_t addr);

/* The bit of the chunk at ADDR in segment SEG. */
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

/* ---- copies.c -------------------------------------------------------------------------------- */

#define NR_COPIES 16
/* The cost of a copy that is read whole, in pages. */
#define NR_SINGLE 8

/* Each at the place its address says. */
struct copies {
	struct reader *r;
	const struct scan *s; /* NULL: not of one arena, but of all that can be malloc's */
	int nr_single;	      /* pages, then all of a copy is read */
	struct copy {
		uint64_t start;
		uint32_t pages; /* a bit for each that was read */
	} copy[NR_COPIES];
	char *buf; /* owned */
};

int copies_open(
	struct copies *c, struct reader *r, const struct scan *s, int nr_single, struct err *e);
void copies_close(struct copies *c);
#define auto_copies __attribute__((cleanup(copies_close)))

/*
 * Two words at ADDR, which is aligned to two words, or NULL; that is so when there is no time, too.
 */
const char *copies_pair(struct copies *c, uint64_t addr);

/* ---- pages.c --------------------------------------------------------------------------------- */

enum heap_part {
	PART_USED,
	PART_OWN,    /* malloc's own, or another owner's */
	PART_CACHED, /* in a tcache, or in a fast bin with no free neighbour */
	PART_FREE,
	PART_TOP,
	NR_PARTS,
};

/* The use of a segment's pages, reported from its first byte to its last. */
struct page_ledger {
	struct heap_arena *arena;
	const struct page_runs *runs;
	size_t at_run;
	uint64_t page_bytes;
	bool is_hugetlb; /* RSS does not count its pages */
	uint64_t page;	 /* the one that is being filled */
	uint64_t filled; /* bytes of it */
	uint64_t part[NR_PARTS];
};

/* Begin at START; the bytes before it on its page belong to another owner. */
void page_ledger_begin(struct page_ledger *l, struct heap_arena *arena,
	const struct page_runs *runs, uint64_t page_bytes, uint64_t start);

/* The part of page_ledger_add() that fills a page. */
void page_ledger_turn(struct page_ledger *l, enum heap_part part, uint64_t bytes);

/* The next BYTES are PART. */
static inline void
page_ledger_add(struct page_ledger *l, enum heap_part part, uint64_t bytes)
{
	if (bytes >= l->page_bytes - l->filled) {
		page_ledger_turn(l, part, bytes);
		return;
	}
	l->part[part] += bytes;
	l->filled += bytes;
}

/* The next BYTES are free, and of them malloc_trim gives back [LO, HI), which are pages. */
void page_ledger_add_trim(
	struct page_ledger *l, enum heap_part part, uint64_t bytes, uint64_t lo, uint64_t hi);

/* The segment ends here; the rest of the page belongs to another owner. */
void page_ledger_end(struct page_ledger *l);

/* ---- walk.c ---------------------------------------------------------------------------------- */

/*
 * Walk segment SEG of the arena: chunk by chunk, or if it is looked at by lists from one free chunk
 * to the next.  Returns 0 when every chunk of it was sound, else 1 with why in the arena.
 */
int walk_segment(struct scan *s, size_t seg, struct err *e);

/* The index in glibc's terms of the bin for chunks of BYTES: 2 to 126 (bin_index()). */
unsigned int bin_of(const struct malloc_layout *l, uint64_t bytes);

/* Add a chunk with the size word RAW to what malloc_info will say of its bin. */
static inline void
bin_add(struct heap_bin *bin, uint64_t raw)
{
	if (!bin->count || raw < bin->from_bytes)
		bin->from_bytes = raw;
	if (raw > bin->to_bytes)
		bin->to_bytes = raw;
	bin->total_bytes += raw;
	bin->count++;
}

/*
 * The largest number of chunks that reading an arena by its lists keeps, whatever a walk would
 * cost, and as many again while they are sorted: 48 MiB.  The walk needs a bit for 16 bytes of the
 * heap instead.
 */
#define MARKS_MAX (UINT64_C(3) << 19)

/* ---- lists.c --------------------------------------------------------------------------------- */

/*
 * Note what is in the fast bins and in the unsorted bin in the maps of S; by lists, what is in all
 * bins in its marks.  Returns 0, 1 with why in the arena when a list is damaged, or -1 with E.
 */
int lists_read(struct scan *s, struct err *e);

/* ---- runs.c ---------------------------------------------------------------------------------- */

/* Add a free chunk that is above those before it.  False if there are too many runs. */
bool runs_add(struct free_runs *r, uint64_t chunk, uint64_t raw, uint64_t fd, uint64_t bk,
	unsigned int bin);

/* The next one may be lower. */
void runs_close(struct free_runs *r);

/*
 * Follow the unsorted bin whose header is a chunk at HEAD from its FIRST chunk on, and note in the
 * runs that they are in it.  False if it leads to anything but the beginnings of runs.
 */
bool runs_follow(struct free_runs *r, uint64_t head, uint64_t first);

/* Add the runs to the bins they are in.  False if one is in a bin of another size. */
bool runs_sum_up(const struct free_runs *r, struct heap_bin bin[HEAP_NR_BINS]);

/* ---- tcache.c -------------------------------------------------------------------------------- */

/* Fill the heap's threads and the reader's marks of what they have cached. */
int tcaches_read(struct reader *r, struct err *e);

/*
 * Fill the heap's threads by the counts of their caches alone: about how much they have. 0 or -1
 * with E.
 */
int tcaches_glance(struct reader *r, struct err *e);

/* ---- arena.c --------------------------------------------------------------------------------- */

/*
 * Read arena A into ARENA, which is zeroed but for nr and may be read again.  BY_LISTS: read only
 * malloc's lists, which is faster where most is in use.  The steps that read no more of the
 * target's memory wait for reader_finish_arenas(); A and ARENA stay in their places. 0, or -1
 * with E.
 */
int reader_read_arena(struct reader *r, const struct arena *a, bool by_lists,
	struct heap_arena *arena, struct err *e);

/* 0, or -1 with E; nothing is unfinished then. */
int reader_finish_arenas(struct reader *r, struct err *e);

/*
 * Read of arena A only what heap_read_tops() promises, into ARENA, which is zeroed but for nr.
 * 0, or -1 with E.
 */
int reader_glance_arena(
	struct reader *r, const struct arena *a, struct heap_arena *arena, struct err *e);

/* Note why ARENA is not exact, if it is the first reason.  Returns 1. */
int heap_arena_doubt(struct heap_arena *arena, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int heap_arena_doubt_late(struct heap_arena *arena);

void heap_arena_release(struct heap_arena *arena);

#endif
