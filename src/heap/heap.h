/*
 * heap: glibc malloc's heaps: its own account of them, which malloc_info writes, and ours, read from
 * memory without running one instruction in the target.
 * May use: inject/, maps/, elf/, os/, base/.
 */
#ifndef MEMDIAG_HEAP_HEAP_H
#define MEMDIAG_HEAP_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/raddr.h"
#include "base/text.h"
#include "maps/maps.h"
#include "os/os.h"

/* ---- malloc_info: glibc's own account, as XML -------------------------------------------------- */

/* A <size> or <unsorted> line: free chunks of FROM..TO bytes, flag bits taken off. */
struct malloc_info_size {
	uint64_t from_bytes, to_bytes, total_bytes, count;
	bool is_unsorted;
	bool is_fast;		/* counted in fast_bytes, else in rest_bytes */
};

/* One <heap>, which is one arena.  Numbers are as printed unless they say otherwise. */
struct malloc_info_heap {
	unsigned int nr;
	struct {
		struct malloc_info_size *v;	/* owned */
		size_t nr, room;
	} size;
	bool has_fast;		/* fastbins are gone since 2.43 */
	uint64_t fast_count, fast_bytes;
	uint64_t rest_count, rest_bytes;	/* binned and, since 2.31, top */
	uint64_t rest_flags;	/* what the flag bits of chunk sizes add to rest_bytes */
	uint64_t system_bytes, max_system_bytes;
	uint64_t aspace_bytes, mprotect_bytes;
	uint64_t nr_subheaps;	/* 0 when not printed (main arena; before 2.27) */
};

struct malloc_info {
	struct {
		struct malloc_info_heap *v;	/* owned; in the document's order, main first */
		size_t nr, room;
	} heap;
	bool has_mmap;		/* printed since 2.20 */
	uint64_t mmap_count, mmap_bytes;
	uint64_t fast_bytes, rest_bytes, system_bytes, max_system_bytes;	/* of all heaps here */
	bool has_top_in_rest;	/* told by content: free space of the top chunk counts as rest */
	bool is_cut;		/* the document ended early; what is here is whole heaps */
	bool is_unsorted_doubtful;	/* BZ 16112 (before 2.19): garbage was seen and left out */
	char note[160];		/* what else was odd, "" if nothing */
};

/*
 * Parse LEN bytes of what malloc_info(0, f) of glibc 2.10 to 2.44 writes into MI, which must be
 * zeroed or released.  By content, never by version.  The text comes from a stranger: entities,
 * NULs, endless or unbalanced documents and numbers out of range are errors; a document that only
 * lacks its end is_cut, if one heap is whole.
 * Returns 0, or -1 with E set and MI released.
 */
int malloc_info_parse(struct malloc_info *mi, const char *xml, size_t len, struct err *e);
void malloc_info_release(struct malloc_info *mi);
#define auto_malloc_info __attribute__((cleanup(malloc_info_release)))

/*
 * Bytes of the arena that are in use by the program, as malloc counts: the tcache and malloc's own
 * headers are in use, and so is the top chunk unless has_top_in_rest.
 */
uint64_t malloc_info_in_use(const struct malloc_info_heap *h);

/*
 * How much of the arena is both free and resident, at least, when RESIDENT_BYTES of it are
 * resident: what is in use cannot take more than all of its bytes.
 */
uint64_t malloc_info_free_resident(const struct malloc_info_heap *h, uint64_t resident_bytes);

/* ---- layout: what the releases of glibc differ in ---------------------------------------------- */

/* How a thread's cache of free chunks is laid out (struct tcache_perthread_struct, 2.26+). */
struct heap_tcache_layout {
	unsigned int nr_bins;		/* 64; 76 since 2.42; 0: this libc has none */
	unsigned int count_bytes;	/* of one count: 1, 2 since 2.30 */
	bool counts_down;		/* the counts are slots left (2.42+) */
	uint64_t chunk_bytes;		/* of the chunk that holds it, if not a little more */
	/* From a thread's pointer to its arena (arenas_slot_of_thread()) to its pointer to this,
	 * which is a null pointer or no heap's before its first use; 0: it could not be told. */
	int64_t from_slot_bytes;
};

/* struct malloc_par: malloc's settings and the account of mapped blocks.  Bytes, if not said else. */
struct heap_params {
	uint64_t trim_threshold, top_pad, mmap_threshold;
	uint64_t arena_test, arena_max;		/* arenas */
	uint64_t thp_page, hp_page;		/* 0: not used, or not known to this release */
	uint64_t nr_mmaps, nr_mmaps_max, max_nr_mmaps;
	bool no_dyn_threshold;			/* thresholds were set, and do not grow any more */
	uint64_t mmapped, max_mmapped;
	raddr sbrk_base;
	uint64_t tcache_count;			/* blocks a bin holds */
	uint64_t tcache_max;
};

/* All that came after the first, as far as we know. */
#define HEAP_ANY_LATER 99

/* Offsets are from the start of struct malloc_state; 0 is a field that this era lacks. */
struct heap_layout {
	char era[24];			/* releases that have it, as in "2.27 to 2.42" */
	unsigned int first, last;	/* the same as numbers: 27 and 42; last may be HEAP_ANY_LATER */
	unsigned int word_bytes;
	unsigned int align_bytes;	/* MALLOC_ALIGNMENT */
	unsigned int heap_info_bytes;	/* 0 if there is no thread arena to tell it by */
	unsigned int fastbins, nr_fastbins;
	unsigned int top, bins, binmap, next, attached, system_mem, max_system;
	unsigned int state_bytes;
	bool has_safe_linking;		/* links of fast bins and tcaches are mangled (2.32+) */
	struct heap_tcache_layout tcache;
	raddr mp;			/* struct malloc_par; 0 if it was not found */
	const char *mp_members;		/* their order; static text */
	struct heap_params params;	/* as of now; zeroes if mp was not found */
	char found_by[160];		/* for people: by which signs it was told */
};

/*
 * Tell the layout of the malloc whose arenas are A, by its shape and never by its version: branches
 * of distributions have changed structures.  Nothing is stopped.  ERR_UNSUPPORTED when it is none
 * that is known.
 */
int heap_layout_find(struct heap_layout *ret, const struct target *t, const struct maps *m,
	const struct objects *o, const struct arenas *a, struct err *e);

/*
 * Read the settings and the account of mapped blocks as they are now; l->mp must be known.  Returns 0,
 * or -1 with E.
 */
int heap_params_read(struct heap_params *ret, const struct target *t, const struct heap_layout *l,
	struct err *e);

/* ---- heap: what is in the arenas --------------------------------------------------------------- */

/* How much a number can be trusted. */
enum heap_certainty {
	HEAP_APPROXIMATE,	/* a check failed, or not all could be read */
	HEAP_CONSISTENT,	/* all checks passed, but it was not stopped, its lock was taken, others
				 * have pages in its mappings, or it is not known what threads have
				 * cached */
	HEAP_EXACT,		/* all threads stood still, nobody held its lock, all checks passed */
};
const char *heap_certainty_name(enum heap_certainty c);

struct heap_sum {
	uint64_t count, bytes;	/* chunks, with their headers */
};

/*
 * A page of an arena that is resident is of exactly one of these; RETURNED and RESERVED are not
 * resident.
 */
enum heap_page_class {
	HEAP_PAGE_LIVE,		/* in use, all of it */
	HEAP_PAGE_MIXED,	/* in use in part; or free with a header that must stay */
	HEAP_PAGE_TRIMMABLE,	/* malloc_trim(0) gives it back */
	HEAP_PAGE_CACHED,	/* nothing on it but chunks of tcaches and fast bins, and free ones */
	HEAP_PAGE_TOP,		/* in a top chunk, and kept by malloc_trim(0): of thread arenas, and
				 * of the main one when it does not end where brk does */
	HEAP_PAGE_RETURNED,	/* free and not resident */
	HEAP_PAGE_RESERVED,	/* address space that the arena has not used yet */
	NR_HEAP_PAGE_CLASSES,
};
const char *heap_page_class_name(enum heap_page_class c);

/* Chunks of malloc_info's <size> line: of one bin. */
struct heap_bin {
	uint64_t count;
	uint64_t total_bytes;	/* sums and ends of the raw size words, flag bits included, as */
	uint64_t from_bytes, to_bytes;	/* malloc_info prints them */
};

#define HEAP_NR_FASTBINS 11
#define HEAP_NR_BINS 127	/* bin 0 here is bin 1 of glibc: the unsorted one */

/* Chunks by size: steps of 16 bytes to 1 KiB, then a class for each power of two. */
#define HEAP_NR_SIZES 96
uint64_t heap_size_from(unsigned int size_class);	/* the smallest chunk of that class */
unsigned int heap_size_class(uint64_t chunk_bytes);

struct heap_chunk {
	raddr addr;		/* of its header; the program's pointer is two words further */
	uint64_t bytes;
};

/* A contiguous piece of an arena: a heap, or what brk or a mapping gave the main arena. */
struct heap_segment {
	raddr start, end;	/* from its first chunk to where it ends; headers are outside */
	struct heap_sum in_use, free;
	struct heap_chunk last_in_use;	/* what keeps it from shrinking; bytes 0: nothing */
	uint64_t below_bytes;		/* free or cached right below that chunk */
};

#define HEAP_NR_LARGEST 16

/* Whole pages. */
struct heap_range {
	raddr start, end;
};

struct heap_arena {
	raddr addr;
	unsigned int nr;		/* in malloc_info's order */
	bool is_main;
	enum heap_certainty certainty;
	char why[160];			/* it is not exact; "" if it is */
	bool is_by_lists;		/* chunks in use were not looked at: used_size, the counts of
					 * in_use, and what pins segments are not known */
	bool has_neighbours;		/* others have pages in its mappings: what is resident is at
					 * most what is said */
	bool is_hugetlb;		/* it has pages of the hugetlb pool: resident, but not in RSS */
	int attached;			/* threads, by malloc's count; -1 before 2.23 */
	bool is_contiguous;		/* brk's only; thread arenas: true */
	uint64_t system_bytes, max_system_bytes;
	uint64_t mprotect_bytes;	/* of all heaps; system_bytes for the main arena */
	struct heap_chunk top;
	struct heap_sum in_use;		/* with what tcaches hold, as malloc counts */
	struct heap_sum cached;		/* of which in tcaches */
	struct heap_sum fast, binned;
	uint64_t overhead_bytes;	/* heap_infos, malloc_state, fence posts */
	struct heap_bin fastbin[HEAP_NR_FASTBINS], bin[HEAP_NR_BINS];
	struct heap_sum used_size[HEAP_NR_SIZES], free_size[HEAP_NR_SIZES];
	struct heap_chunk largest[HEAP_NR_LARGEST];	/* free, largest first; bytes 0 ends it */
	struct {
		struct heap_segment *v;	/* owned; oldest first */
		size_t nr, room;
	} segment;
	/* pages; zeroes, with has_pages false, when they could not be told */
	bool has_pages;
	uint64_t page_bytes[NR_HEAP_PAGE_CLASSES];
	uint64_t resident_bytes, swapped_bytes;
	uint64_t live_resident_bytes;	/* bytes in use on resident pages, cached ones not counted */
	uint64_t stranded_bytes;	/* free bytes on MIXED and CACHED pages */
	struct {			/* what malloc_trim() does here */
		uint64_t rss_bytes;	/* RSS falls by */
		uint64_t uss_bytes;	/* of which nobody else has the pages; see has_uss */
		uint64_t swap_bytes;
		uint64_t lock_ns;	/* the arena's lock is held, estimated */
		uint64_t mlocked_bytes;	/* would go as well, but for mlock() */
		/* Of rss_bytes, on huge pages of which some stays: the kernel keeps them whole until
		 * it is short of memory. */
		uint64_t huge_bytes;
		struct {
			struct heap_range *v;	/* owned; madvise() each, the last may be brk's */
			size_t nr, room;
		} range;
	} trim;
	struct heap_range top_pages;	/* whole pages of the top chunk that it leaves */
};

/* A thread's cache. */
struct heap_thread {
	pid_t tid;		/* 0: it could not be told whose this is */
	raddr arena;		/* 0: none yet */
	bool has_cache;		/* it has one, in a chunk of malloc's own */
	struct heap_sum cached;
};

struct heap {
	struct heap_layout layout;
	struct {
		struct heap_arena *v;	/* owned; in malloc_info's order */
		size_t nr, room;
	} arena;
	struct {
		struct heap_thread *v;
		size_t nr, room;
	} thread;
	bool knows_caches;	/* false: what threads have cached counts as in use */
	enum heap_certainty certainty;	/* of the least certain arena */
	bool is_ring_closed;	/* false: memory is damaged, and arenas may lack */
	struct stray_heaps strays;	/* which no arena here has; see arenas_find_strays() */
	bool has_uss;
	bool is_resident_least;	/* a core file without holes: zero pages may have been resident, too */
	unsigned int nr_looks;	/* in which arenas were read; threads are as in the last, so that with
				 * more than one what they have cached need not add up */
	unsigned int nr_stops;
	uint64_t stopped_ns, longest_stop_ns;
	uint64_t nr_chunks, read_bytes;	/* for --verbose and the benchmark */
};

/* What a command stops a target for at a time unless it is told otherwise. */
#define HEAP_DEFAULT_STOP_NS (UINT64_C(200) * 1000000)

struct heap_options {
	uint64_t max_stop_ns;	/* the longest the target may be stopped at a time; 0: not at all */
	bool want_uss;		/* tell how much of what trim gives back nobody shares */
	uint64_t pad_bytes;	/* forecast malloc_trim() of this */
	bool with_tops;		/* forecast that the tops of thread arenas are given back as well */
	bool bins_only;		/* free chunks by malloc's lists; no chunk in use is looked at */
	bool one_look;		/* do not try again with an arena that could not be read exactly */
	/* If not NULL, called with ARG at each look at the target, while it is stopped if it is. */
	void (*beside)(void *arg);
	void *arg;
};

/*
 * Read the heaps of T into H, which must be zeroed or released.  Only pages that are present are
 * read, so that the target's pages stay as they are.  What could not be read for sure is not left
 * out but marked in its arena.  Returns 0, or -1 with E and H released.
 */
int heap_read(struct heap *h, const struct target *t, const struct maps *m,
	const struct objects *o, const struct heap_options *opt, struct err *e);

/*
 * As heap_read(), but of each of the arenas A only the header, the top chunk, and in thread arenas
 * what is resident of its pages: page_bytes[HEAP_PAGE_TOP], which has_pages does not speak of.  Of a
 * main arena that is not contiguous also resident_bytes, as far as its pieces are easily found.
 * Nothing is stopped, and no chunk but the top is looked at.
 */
int heap_glance(struct heap *h, const struct target *t, const struct maps *m,
	const struct objects *o, const struct arenas *a, struct err *e);

void heap_release(struct heap *h);
#define auto_heap __attribute__((cleanup(heap_release)))

/*
 * The whole pages of the top chunk of the thread arena at ARENA of T, by its header as it is now;
 * they stay free while nobody takes the arena's lock.  Returns 0, or -1 if there are none.
 */
int heap_top_pages(const struct target *t, const struct maps *m, const struct heap_layout *l,
	raddr arena, struct heap_range *ret);

/*
 * Whether malloc_info() would hold the lock of one of the arenas A for longer than MAX_NS, going
 * through its free chunks; also when there are too many in all to be counted quickly.  A hint:
 * nothing is stopped, and lists change.
 */
bool heap_is_slow_to_tell(const struct target *t, const struct maps *m, const struct arenas *a,
	uint64_t max_ns);

/*
 * The document that malloc_info(0, f) of the target's own libc would write, into OUT; of a libc
 * before 2.31 in the form of 2.31.
 */
int heap_write_xml(const struct heap *h, struct text *out, struct err *e);

#endif
