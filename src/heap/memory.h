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
struct read_ahead;
struct target;

/* Return the index of the first run that ends after ADDR. */
size_t page_runs_from(const struct page_runs *runs, uint64_t addr);

/* A stretch of memory that is read in order of address, in pieces whose size adapts to the use. */
struct window {
	const struct target *t;
	struct os_pages *pages; /* NULL: sharing of pages is unknown */
	const struct page_runs *runs;
	size_t at_run;		  /* the first run that may contain the next address */
	char *own;		  /* owned; for pieces that are not read ahead */
	const char *buf;	  /* OWN, or a piece of AHEAD */
	uint64_t start, end;	  /* the range in BUF */
	size_t want_bytes;	  /* to read next */
	bool is_whole;		  /* all pages are read, not only those with headers */
	bool is_alone;		  /* with IS_WHOLE: no other process shares any of them */
	struct read_ahead *ahead; /* owned; NULL: pieces are read when they are needed */
	size_t nr_hits;		  /* uses of the contents of BUF */
	uint64_t read_bytes;
	size_t nr_reads;
};
int window_open(
	struct window *w, const struct reader *r, const struct page_runs *runs, struct err *e);
void window_close(struct window *w);
#define auto_window __attribute__((cleanup(window_close)))

/* Read all memory from ADDR on that the window passes, in the largest pieces and ahead. */
void window_read_whole(struct window *w, uint64_t addr);

/*
 * Return the first address at or above ADDR in a present page, UINT64_MAX if no page follows that
 * is present.
 */
uint64_t window_next_present(const struct window *w, uint64_t addr);

/* The slow path of window_at(). */
const char *window_move(struct window *w, uint64_t addr, size_t size);

/* Return whether SIZE bytes at ADDR are in the window now. */
static inline bool
window_has(const struct window *w, uint64_t addr, size_t size)
{
	return addr >= w->start && addr + size <= w->end;
}

/*
 * Return SIZE bytes at ADDR, valid until the next call, or NULL if their page is not present or
 * cannot be read.  ADDR must not decrease.
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
	PAGE_NONE, /* not present, or not malloc's */
	PAGE_SWAPPED,
	PAGE_PRESENT,
};

/* Return whether the deadline has passed; reads the clock. */
bool reader_is_late(struct reader *r);

/*
 * Return the state of the page of ADDR: present if it can be malloc's and reading it does not
 * change the target.
 */
enum page_presence reader_page(struct reader *r, uint64_t addr);

/*
 * Return whether the SIZE bytes at ADDR, at most a page, begin or end in a page of malloc in swap.
 */
bool reader_is_swapped(struct reader *r, uint64_t addr, size_t size);

/* Copy SIZE bytes at ADDR, at most a page, if their pages are present. */
bool reader_look(struct reader *r, uint64_t addr, void *to, size_t size);

/*
 * Return the writable private memory around ADDR with one name or without a name, even if the
 * kernel has not merged it into one mapping (after fork() it does not), without heaps of thread
 * arenas; {0, 0} if not found.
 */
struct heap_range reader_mapping(const struct reader *r, uint64_t addr);

/*
 * Return the end of the memory that can be malloc's and begins at or before ADDR; ADDR if it is not
 * in such memory.
 */
uint64_t reader_memory_end(const struct reader *r, uint64_t addr);

/* Return the size of the page at ADDR if it comes from the hugetlb pool; else 0. */
uint64_t reader_hugetlb_page(const struct reader *r, uint64_t addr);

/*
 * Add the runs of [START, END) that can be malloc's to RUNS; some are missing if the reader is late
 * then.
 */
int reader_add_runs(
	struct reader *r, struct page_runs *runs, uint64_t start, uint64_t end, struct err *e);

#endif
