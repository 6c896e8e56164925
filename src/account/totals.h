/*
 * totals: the arenas that were read, added up.
 */
#ifndef MEMDIAG_ACCOUNT_TOTALS_H
#define MEMDIAG_ACCOUNT_TOTALS_H

#include "heap/heap.h"

/* The use of the arenas' resident bytes.  The order is the order on the screen. */
enum heap_account {
	HEAP_IN_USE,
	HEAP_TRIMMABLE,
	HEAP_STRANDED,
	HEAP_TOPS,     /* of thread arenas */
	HEAP_MAIN_TOP, /* if malloc_trim() leaves that as well */
	HEAP_BEHIND,   /* behind the ends of heaps that have shrunk */
	HEAP_KEPT,     /* the rest: in caches of threads, and malloc's own headers */
	NR_HEAP_ACCOUNTS,
};

/* The arenas added up. */
struct heap_totals {
	uint64_t system_bytes, in_use_bytes, cached_bytes, free_bytes, top_bytes, mprotect_bytes;
	bool has_pages;				  /* of every arena; else all below is 0 */
	uint64_t account_bytes[NR_HEAP_ACCOUNTS]; /* sums to resident_bytes */
	uint64_t resident_bytes, swapped_bytes, page_bytes[NR_HEAP_PAGE_CLASSES];
	uint64_t foreign_bytes; /* of system_bytes; see struct heap_arena */
	uint64_t foreign_resident_bytes;
	size_t nr_trimmable; /* arenas that have something to trim */
	size_t nr_approximate;
	size_t nr_by_lists; /* chunks in use were not looked at */
};

void heap_totals(struct heap_totals *ret, const struct heap *h);
void heap_arena_accounts(const struct heap_arena *a, uint64_t ret_bytes[NR_HEAP_ACCOUNTS]);
const char *heap_account_name(enum heap_account kind); /* of JSON */
/* In use by the program: without what the caches of threads hold. */
uint64_t heap_arena_in_use(const struct heap_arena *a);
/*
 * Its numbers are marked: a check failed, not all could be read, or others have pages in its
 * mappings.
 */
bool heap_arena_is_rough(const struct heap_arena *a);
/* How much of the resident bytes is not in use: 0 to 1. */
double heap_arena_fragmentation(const struct heap_arena *a);
/* Chunks of one size class in all arenas. */
void heap_size_sums(const struct heap *h, unsigned int size_class, struct heap_sum *ret_used,
	struct heap_sum *ret_free);
/* The arena at ADDR, or NULL. */
const struct heap_arena *heap_arena_at(const struct heap *h, raddr addr);
/* The threads that use A, by malloc's own count or ours; -1 if neither is known. */
int heap_arena_threads(const struct heap *h, const struct heap_arena *a);

#endif
