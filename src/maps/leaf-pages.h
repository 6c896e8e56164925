/*
 * leaf-pages: the resident and swapped pages of each leaf.
 */
#ifndef MEMDIAG_MAPS_LEAF_PAGES_H
#define MEMDIAG_MAPS_LEAF_PAGES_H

#include <stdbool.h>

#include "base/err.h"
#include "elf/regions.h"
#include "maps/maps.h"
#include "os/pages.h"

struct target;

/*
 * A counter for the pages of one target.  A thread may walk the mappings while their list is read.
 */
struct leaf_pages;

/* Make a counter.  BY and errors are as in os_pages_open(). */
int leaf_pages_open(
	struct leaf_pages **ret, const struct target *t, enum os_pages_by by, struct err *e);
void leaf_pages_free(struct leaf_pages *c);
static inline void
leaf_pages_cleanup(struct leaf_pages **c)
{
	leaf_pages_free(*c);
}
#define auto_leaf_pages __attribute__((cleanup(leaf_pages_cleanup)))
enum os_pages_by leaf_pages_by(const struct leaf_pages *c);
/* As os_pages_know_zero(). */
bool leaf_pages_know_zero(const struct leaf_pages *c);
/* Return whether pagemap is not read for R, so that its pages are not counted. */
bool leaf_pages_pass_over(const struct region *r);

/* Return the listener that must receive all regions before they can be counted; owned by C. */
const struct regions_listener *leaf_pages_listener(const struct leaf_pages *c);

/* Make walks of PAGES use the runs that C has stored.  C must outlive PAGES. */
void leaf_pages_lend(struct leaf_pages *c, struct os_pages *pages);

/* Add the pages of the received regions to S's leaves.  On failure some are counted, others not. */
int leaf_pages_count(struct leaf_pages *c, struct space *s, struct err *e);

#endif
