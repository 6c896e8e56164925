/*
 * lists-priv: what other files of heap/ use of lists.c.
 */
#ifndef MEMDIAG_HEAP_LISTS_PRIV_H
#define MEMDIAG_HEAP_LISTS_PRIV_H

#include "base/err.h"

struct scan;

/*
 * Store the fast bins and the unsorted bin in the maps of S; by lists, all bins in its marks.
 * Returns 0, 1 with the reason in the arena when a list is damaged, or -1 with E.
 */
int lists_read(struct scan *s, struct err *e);

#endif
