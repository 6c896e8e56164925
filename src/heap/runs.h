/*
 * runs: runs of adjacent free bytes.
 */
#ifndef MEMDIAG_HEAP_RUNS_H
#define MEMDIAG_HEAP_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "heap/heap-priv.h"
#include "heap/heap.h"

/* Add a free chunk above the previous ones.  False if there are too many runs. */
bool runs_add(struct free_runs *r, uint64_t chunk, uint64_t raw, uint64_t fd, uint64_t bk,
	unsigned int bin);

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
