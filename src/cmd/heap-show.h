/*
 * heap-show: what 'memdiag heap' prints of the heaps that were read.
 */
#ifndef MEMDIAG_CMD_HEAP_SHOW_H
#define MEMDIAG_CMD_HEAP_SHOW_H

#include "cmd/warnings.h"
#include "heap/heap.h"
#include "ui/ui.h"
#include "verdict/verdict.h"

/* Tables that are printed below the summary. */
enum heap_view {
	HEAP_ARENAS = 1,
	HEAP_HISTOGRAM = 2,
	HEAP_FREE = 4,
	HEAP_THREADS = 8,
	HEAP_PINS = 16,
	HEAP_PAGES = 32,
	HEAP_MMAPPED = 64,
};

/* The blocks with mappings of their own: malloc's account of them, and those that were found. */
struct heap_mmapped {
	bool has_account;
	struct heap_sum account;
	bool is_listed;		/* they were looked for */
	struct {
		struct leaf *v;	/* owned; the largest first */
		size_t nr, room;
	} chunk;
	bool has_pages;		/* it can be told what of them is resident and in swap */
	uint64_t bytes, resident_bytes, swapped_bytes;	/* of those that were found */
};

/* What there is to tell. */
struct heap_report {
	const struct target *t;
	const char *core;		/* the file it was read from, or NULL */
	const struct os_status *status;	/* NULL: not known, of a core */
	const struct heap *h;
	const struct heap_mmapped *mmapped;
	const struct arenas *arenas;	/* not NULL: the layout is unknown, and H is empty */
	unsigned int views;		/* of enum heap_view */
	size_t limit;			/* of lines in each table; 0: none */
	const struct verdict *verdict;
	size_t nr_verdicts;
	const struct warnings *warnings;
};

/* What the resident bytes of the arenas are for.  The order is the order on the screen. */
enum heap_account {
	HEAP_IN_USE,
	HEAP_TRIMMABLE,
	HEAP_STRANDED,
	HEAP_TOPS,		/* of thread arenas */
	HEAP_MAIN_TOP,		/* if malloc_trim() leaves that as well */
	HEAP_KEPT,		/* the rest: in caches of threads, and malloc's own headers */
	NR_HEAP_ACCOUNTS,
};

/* The arenas added up. */
struct heap_totals {
	uint64_t system_bytes, in_use_bytes, cached_bytes, free_bytes, top_bytes, mprotect_bytes;
	bool has_pages;			/* of every arena; else all below is 0 */
	uint64_t account_bytes[NR_HEAP_ACCOUNTS];	/* sums to resident_bytes */
	uint64_t resident_bytes, swapped_bytes, page_bytes[NR_HEAP_PAGE_CLASSES];
	size_t nr_trimmable;		/* arenas that have something to trim */
	size_t nr_approximate;
	size_t nr_by_lists;		/* chunks in use were not looked at */
};

/* heap-totals.c */
void heap_totals(struct heap_totals *ret, const struct heap *h);
void heap_arena_accounts(const struct heap_arena *a, uint64_t ret_bytes[NR_HEAP_ACCOUNTS]);
const char *heap_account_name(enum heap_account kind);	/* of JSON */
/* In use by the program: without what the caches of threads hold. */
uint64_t heap_arena_in_use(const struct heap_arena *a);
/* How much of the resident bytes is not in use: 0 to 1. */
double heap_arena_fragmentation(const struct heap_arena *a);
/* Chunks of one size class in all arenas. */
void heap_size_sums(const struct heap *h, unsigned int size_class, struct heap_sum *ret_used,
	struct heap_sum *ret_free);
/* The arena at ADDR, or NULL. */
const struct heap_arena *heap_arena_at(const struct heap *h, raddr addr);
/* The threads that use A, by malloc's own count or ours; -1 if neither is known. */
int heap_arena_threads(const struct heap *h, const struct heap_arena *a);

/*
 * heap-mmapped.c: fill M, which must be zeroed or released, from the space of T, read after its
 * heap; S may be NULL, then only the account is known.  0, or -1 with E.
 */
int heap_mmapped_find(struct heap_mmapped *m, const struct target *t, const struct heap_layout *l,
	const struct space *s, struct err *e);
/* Whether those that were found are all that malloc counts. */
bool heap_mmapped_agrees(const struct heap_mmapped *m);
void heap_mmapped_release(struct heap_mmapped *m);

/* heap-text.c, heap-json.c: 0, or -1 with E */
int heap_show_text(struct ui_output *out, const struct ui_options *ui,
	const struct heap_report *report, struct err *e);
int heap_show_json(struct ui_output *out, const struct heap_report *report, struct err *e);

#endif
