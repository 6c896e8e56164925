/* maps-priv: what the files of maps share about leaves and spans. */
#ifndef MEMDIAG_MAPS_MAPS_PRIV_H
#define MEMDIAG_MAPS_MAPS_PRIV_H

#include <string.h>

#include "maps/maps.h"
#include "os/pages.h"

struct target;

/* The kind of anonymous memory of which nothing but its size is known. */
enum leaf_kind leaf_of_size(uint64_t bytes);
/* ---- threads ---- */

/*
 * Add the stacks of those of the NR threads TID that musl made, and guess those of the others by
 * where their stack pointers are.
 */
int thread_stacks_add_others(struct thread_stacks *stacks, const struct target *t,
	const struct regions *m, const pid_t *tid, size_t nr, struct err *e);

/* ---- spans: what is known of intervals, whatever mappings they lie in ---- */

struct span {
	raddr start, end;
	uint8_t kind, confidence;
	int32_t object, arena;
	pid_t tid;
};

struct spans {
	struct span *v; /* sorted by start, never overlapping */
	size_t nr, room;
};

#define SPAN_NONE                                                                                  \
	{                                                                                          \
		.object = -1, .arena = -1                                                          \
	}

/* Add to S, which need not be sorted meanwhile.  Returns 0, or -1 when there is no memory. */
int spans_add(struct spans *s, const struct span *span);
/* Sort S; of what overlaps the one that starts first stays whole. */
void spans_settle(struct spans *s);
/* Add to TOP what BELOW has where TOP has nothing; both settled.  0, or -1: no memory. */
int spans_lay_under(struct spans *top, const struct spans *below);
void spans_release(struct spans *s);
#define auto_spans __attribute__((cleanup(spans_release)))

struct leaf_pages;

/*
 * All knowledge of S's target beyond its mappings: stacks, heaps, objects.  The unused part of a
 * stack is distinguished only if OPT wants that.  PAGES, which has received all regions, saves
 * looking for pages; it may be NULL.
 */
int spans_find(struct spans *ret, const struct space *s, const struct target *t,
	const struct space_options *opt, struct leaf_pages *leaf_pages, struct err *e);

/* The same of P, which is a map without its process: what shapes show. */
int spans_infer(struct spans *ret, const struct process *p, struct err *e);

/*
 * Make the leaves of S, without numbers of pages, from its regions and SPANS.  T may be NULL: there
 * is no process.
 */
int space_classify(
	struct space *s, const struct spans *spans, const struct target *t, struct err *e);

/* ---- leaf pages: the pages of the leaves ---- */

/*
 * Counts the pages of one target.  While the list of its mappings is read a thread may walk them.
 */
struct leaf_pages;

/* BY is as in os_pages_open(), which fails likewise. */
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
/* Whether pagemap is not read for R, and its pages are not counted then. */
bool leaf_pages_pass_over(const struct region *r);

/* Receives all regions before they can be counted; owned by C. */
const struct regions_listener *leaf_pages_listener(const struct leaf_pages *c);

/*
 * Have walks of PAGES answer from what C has seen of what it heard of, as far as it keeps that.  C
 * must outlive PAGES.
 */
void leaf_pages_lend(struct leaf_pages *c, struct os_pages *pages);

/* Add the pages of what was heard of to S's leaves.  On failure some are counted, others not. */
int leaf_pages_count(struct leaf_pages *c, struct space *s, struct err *e);

#endif
