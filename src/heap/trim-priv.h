/*
 * trim-priv: what other files of heap/ use of trim.c.
 */
#ifndef MEMDIAG_HEAP_TRIM_PRIV_H
#define MEMDIAG_HEAP_TRIM_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "glibc/layout.h"
#include "heap/heap-priv.h"
#include "heap/heap.h"

struct target;

/* List locked memory; nothing is read if the process has none locked.  0, or -1 with E. */
int mlocked_find(struct mlocked *l, const struct target *t, struct err *e);

/* Return the start of the first range in [LO, HI), HI if not found. */
uint64_t mlocked_from(const struct mlocked *l, uint64_t lo, uint64_t hi);

/*
 * Return the whole pages of a top chunk at TOP that ends at END, after its header; the range may be
 * empty.
 */
struct heap_range top_pages(
	const struct malloc_layout *l, uint64_t page_bytes, uint64_t top, uint64_t end);

/*
 * Complete the forecast for all arenas: how long their locks are held, which pages are huge and, if
 * WANT_USS, which pages no other process shares.
 */
void trim_forecast(struct reader *r, bool want_uss);

#endif
