/*
 * runs: runs of adjacent free bytes.
 */
#ifndef MEMDIAG_HEAP_RUNS_H
#define MEMDIAG_HEAP_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "heap/heap-priv.h"
#include "heap/heap.h"
#include "heap/pages-priv.h"

/* The slow path of runs_add(): begin a run with CHUNK.  NULL if there are too many runs. */
struct free_run *runs_begin(struct free_runs *r, uint64_t chunk, uint64_t fd, unsigned int bin);

/*
 * Return the last run if CHUNK, which is above all chunks since the last runs_close(), continues
 * it; else NULL.  A run of several chunks continues in its direction only: the other link of its
 * highest chunk leads into it.
 */
static inline struct free_run *
runs_continue(struct free_runs *r, uint64_t chunk, uint64_t fd, uint64_t bk)
{
	struct free_run *last = &r->v[r->nr - 1];

	if (r->last_fd == chunk && bk == last->high) {
		last->exit = fd;
		return last;
	}
	if (r->last_bk == chunk && fd == last->high) {
		last->entry = chunk;
		return last;
	}
	return NULL;
}

/* Add a free chunk above the previous ones.  False if there are too many runs. */
static inline bool
runs_add(struct free_runs *r, uint64_t chunk, uint64_t raw, uint64_t fd, uint64_t bk,
	unsigned int bin)
{
	struct free_run *run = r->is_open ? runs_continue(r, chunk, fd, bk) : NULL;

	if (!run)
		run = runs_begin(r, chunk, fd, bin);
	if (!run)
		return false;
	run->high = chunk;
	if (run->bin != bin)
		run->bin = 0;
	bin_add(&run->sums, raw);
	r->last_fd = fd;
	r->last_bk = bk;
	return true;
}

/* Allow the next chunk to be lower. */
void runs_close(struct free_runs *r);

/*
 * Follow the unsorted bin whose header is a chunk at HEAD from its FIRST chunk on, and mark the
 * runs that are in it.  False if it leads to anything but the beginnings of runs.
 */
bool runs_follow(struct free_runs *r, uint64_t head, uint64_t first);

/* Add the runs to their bins.  False if one is in a bin of another size. */
bool runs_sum_up(const struct free_runs *r, struct heap_bin bin[HEAP_NR_BINS]);

#endif
