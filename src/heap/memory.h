/*
 * memory: memory of the target as the walk reads it: windows, copies, and which pages are resident.
 */
#ifndef MEMDIAG_HEAP_MEMORY_H
#define MEMDIAG_HEAP_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "heap/heap-priv.h"
#include "heap/heap.h"
#include "heap/pages-priv.h"

struct os_pages;
struct target;

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

/* ---- the reader ------------------------------------------------------------------------------ */

enum page_presence {
	PAGE_NONE, /* not present, or nothing that malloc can have */
	PAGE_SWAPPED,
	PAGE_PRESENT,
};

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

#endif
