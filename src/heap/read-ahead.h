/*
 * read-ahead: a stretch of memory that is read by a separate thread, a few pieces ahead of the one
 * that looks at it.  Reading takes about as long as looking, so a stop takes half of the time.
 */
#ifndef MEMDIAG_HEAP_READ_AHEAD_H
#define MEMDIAG_HEAP_READ_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct page_runs;
struct target;

struct read_ahead;

/*
 * Begin to read the present pages of RUNS, which must not change, from ADDR on, the start of a
 * page, in order of address and in pieces of at most PIECE_BYTES.  IS_ALONE: no other process
 * shares any of the pages.  Returns NULL without memory or without a thread.
 */
struct read_ahead *read_ahead_new(const struct target *t, const struct page_runs *runs,
	uint64_t addr, size_t piece_bytes, bool is_alone);
/* Stop reading, and free R, which may be NULL.  Waits for the piece that is being read. */
void read_ahead_free(struct read_ahead *r);

/*
 * Return the piece that has ADDR, and [*RET_START, *RET_END), the range in it, valid until the next
 * call; NULL if ADDR is in no present page or cannot be read.  ADDR must not decrease.
 */
const char *read_ahead_at(
	struct read_ahead *r, uint64_t addr, uint64_t *ret_start, uint64_t *ret_end);

#endif
