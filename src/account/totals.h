/* totals: the sums over all arenas that were read. */
#ifndef MEMDIAG_ACCOUNT_TOTALS_H
#define MEMDIAG_ACCOUNT_TOTALS_H

#include "heap/heap.h"

/* The use of the arenas' resident bytes, in the order of the output. */
enum heap_account {
	HEAP_IN_USE,
	HEAP_TRIMMABLE,
	HEAP_STRANDED,
	HEAP_TOPS,     /* of thread arenas */
	HEAP_MAIN_TOP, /* if malloc_trim() keeps it as well */
	HEAP_BEHIND,   /* after the ends of heaps that have shrunk */
	HEAP_KEPT,     /* the rest: thread caches, and malloc's headers */
	NR_HEAP_ACCOUNTS,
};

/* The sums over all arenas. */
struct heap_totals {
	uint64_t system_bytes, in_use_bytes, cached_bytes, free_bytes, top_bytes, mprotect_bytes;
	/* known for every arena; else all members below are 0 */
	bool has_pages;
	uint64_t account_bytes[NR_HEAP_ACCOUNTS]; /* adds up to resident_bytes */
	uint64_t resident_bytes, swapped_bytes, page_bytes[NR_HEAP_PAGE_CLASSES];
	uint64_t foreign_bytes; /* part of system_bytes; see struct heap_arena */
	uint64_t foreign_resident_bytes;
	size_t nr_trimmable; /* arenas with trimmable memory */
	size_t nr_approximate;
	size_t nr_by_lists; /* arenas whose chunks in use were not read */
};

void heap_totals(struct heap_totals *ret, const struct heap *h);
void heap_arena_accounts(const struct heap_arena *a, uint64_t ret_bytes[NR_HEAP_ACCOUNTS]);
const char *heap_account_name(enum heap_account kind); /* in JSON */
/* Return the bytes in use by the program, without thread caches. */
uint64_t heap_arena_in_use(const struct heap_arena *a);
/*
 * True if the arena's numbers are marked: a check failed, parts were unreadable, or its mappings
 * contain foreign pages.
 */
bool heap_arena_is_rough(const struct heap_arena *a);
/* Return the share of resident bytes not in use: 0 to 1. */
double heap_arena_fragmentation(const struct heap_arena *a);
/* Add up the chunks of one size class in all arenas. */
void heap_size_sums(const struct heap *h, unsigned int size_class, struct heap_sum *ret_used,
	struct heap_sum *ret_free);
/* Return the arena at ADDR, or NULL. */
const struct heap_arena *heap_arena_at(const struct heap *h, raddr addr);
/*
 * Return the number of threads that use A, by malloc's count or memdiag's; -1 if both are unknown.
 */
int heap_arena_threads(const struct heap *h, const struct heap_arena *a);

#endif
