/*
 * spans: ranges whose class a structure in memory shows.
 */
#ifndef MEMDIAG_MAPS_SPANS_H
#define MEMDIAG_MAPS_SPANS_H

#include "base/err.h"
#include "maps/maps-priv.h"
#include "maps/maps.h"
#include "maps/space.h"

struct leaf_pages;
struct target;

/* Add SPAN to S, which need not be sorted.  Returns 0, or -1 when there is no memory. */
int spans_add(struct spans *s, const struct span *span);
/* Sort S; of overlapping spans the one that starts first stays whole. */
void spans_settle(struct spans *s);
/* Add the parts of BELOW that do not overlap TOP to TOP; both settled.  0, or -1: no memory. */
int spans_lay_under(struct spans *top, const struct spans *below);
void spans_release(struct spans *s);
#define auto_spans __attribute__((cleanup(spans_release)))

/*
 * Find all spans of S's target: stacks, heaps, objects.  The unused part of a stack is
 * distinguished only if OPT wants that.  LEAF_PAGES, which has received all regions, saves reading
 * page states; it may be NULL.
 */
int spans_find(struct spans *ret, const struct space *s, const struct target *t,
	const struct space_options *opt, struct leaf_pages *leaf_pages, struct err *e);

#endif
