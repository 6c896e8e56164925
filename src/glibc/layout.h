/*
 * layout: differences between the releases of glibc: the structures of malloc in a target, and its
 * settings.
 */
#ifndef MEMDIAG_GLIBC_LAYOUT_H
#define MEMDIAG_GLIBC_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/raddr.h"
#include "base/word.h"
#include "elf/regions.h"
#include "glibc/arenas.h"

struct process;
struct target;

/* The layout of a thread's cache of free chunks (struct tcache_perthread_struct, 2.26+). */
struct tcache_layout {
	unsigned int nr_bins;	  /* 64; 76 since 2.42; 0: this libc has no tcache */
	unsigned int count_bytes; /* of one count: 1, 2 since 2.30 */
	bool counts_down;	  /* the counts are free slots (2.42+) */
	/* of the chunk that contains it; the real one may be a little larger */
	uint64_t chunk_bytes;
	/*
	 * Distance from a thread's pointer to its arena (arenas_slot_of_thread()) to its pointer to
	 * its cache, which is NULL or outside all heaps before the first use; 0: unknown.
	 */
	int64_t from_slot_bytes;
};

/*
 * struct malloc_par: malloc's settings and the account of mapped blocks.  Bytes, unless stated
 * otherwise.
 */
struct malloc_params {
	uint64_t trim_threshold, top_pad, mmap_threshold;
	uint64_t arena_test, arena_max; /* numbers of arenas */
	uint64_t thp_page, hp_page;	/* 0: not used, or unknown to this release */
	uint64_t nr_mmaps, nr_mmaps_max, max_nr_mmaps;
	bool no_dyn_threshold; /* thresholds were set, and no longer grow */
	uint64_t mmapped, max_mmapped;
	raddr sbrk_base;
	uint64_t tcache_count; /* maximum number of blocks in a bin */
	uint64_t tcache_max;
};

/* All later releases, as far as known. */
#define MALLOC_ANY_LATER 99

#define MALLOC_NR_FASTBINS 11

/* Offsets from the start of struct malloc_state; 0 for a field that this era lacks. */
struct malloc_layout {
	char era[24]; /* releases with this layout, as in "2.27 to 2.42" */
	/* their numbers: 27 and 42; last may be MALLOC_ANY_LATER */
	unsigned int first, last;
	unsigned int word_bytes;
	unsigned int align_bytes;     /* MALLOC_ALIGNMENT */
	unsigned int heap_info_bytes; /* 0 if it was not determined: no thread arenas */
	unsigned int fastbins, nr_fastbins;
	unsigned int top, bins, binmap, next, attached, system_mem, max_system;
	unsigned int state_bytes;
	bool has_safe_linking; /* links of fast bins and tcaches are mangled (2.32+) */
	struct tcache_layout tcache;
	raddr mp;		     /* struct malloc_par; 0 if it was not found */
	const char *mp_members;	     /* letters of the members, in order; static text */
	struct malloc_params params; /* the present values; zeroes if mp was not found */
	char found_by[160];	     /* for people: the signs that the layout was found by */
};

/*
 * Determine the layout of P's malloc, whose arenas were found, by its shape and never by its
 * version: branches of distributions have changed structures.  No thread is stopped.
 * ERR_UNSUPPORTED if no known layout fits.
 */
int malloc_layout_find(struct malloc_layout *ret, const struct process *p, struct err *e);

/*
 * Store in RET how many blocks malloc has mapped separately, by its own account; for struct
 * space_options (maps/maps.h).  False if the account is not found or inconsistent.  Reads only
 * present pages.
 */
bool malloc_count_mmapped(const struct process *p, uint64_t *ret);

/* As malloc_layout_find(), but without searching for the tcache, which takes most of the time. */
int malloc_layout_find_basic(struct malloc_layout *ret, const struct process *p, struct err *e);

/* Do the rest of malloc_layout_find(), until DEADLINE_NS (0: no deadline). */
void malloc_layout_add_tcache(struct malloc_layout *l, const struct target *t,
	const struct regions *m, const struct arenas *a, uint64_t deadline_ns);

/* ---- the caches of threads ------------------------------------------------------------------- */

/* Return the number of blocks in bin NR of the cache at C; since 2.42, the number of free slots. */
static inline unsigned int
tcache_count(const struct tcache_layout *l, const char *c, unsigned int nr)
{
	uint16_t half;

	if (l->count_bytes == 1)
		return (unsigned char)c[nr];
	memcpy(&half, c + nr * sizeof half, sizeof half);
	return half;
}

/* Return the first block of bin NR of the cache at C; 0 if it is empty. */
static inline uint64_t
tcache_head(const struct malloc_layout *l, const struct tcache_layout *tl, const char *c,
	unsigned int nr)
{
	return word_from(c + tl->nr_bins * tl->count_bytes + nr * l->word_bytes, l->word_bytes);
}

#endif
