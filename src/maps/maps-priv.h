/* maps-priv: what the files of maps share about lines, leaves and spans. */
#ifndef MEMDIAG_MAPS_MAPS_PRIV_H
#define MEMDIAG_MAPS_MAPS_PRIV_H

#include "maps/maps.h"

/*
 * Read one NUL-terminated line as /proc/PID/maps and smaps have it into R, whose path will point
 * into LINE.  False if it is not such a line.
 */
bool region_parse(struct region *r, const char *line);

/* Who hears of the regions while they are read. */
struct maps_listener {
	void (*begin)(void *arg);	/* from the start: what was told before no longer counts */
	void (*region)(const struct region *r, void *arg);	/* not sorted yet if the map is torn */
	void *arg;
};

/* As maps_read(); LISTENER may be NULL. */
int maps_read_telling(struct maps *m, const struct target *t,
	const struct maps_listener *listener, struct err *e);

/* Whether the region belongs to no file and nothing the kernel gave a name of its own. */
bool region_is_anonymous(const struct region *r);
bool region_is_reserve(const struct region *r);
bool region_is_heap(const struct region *r);
/* Whether the kernel maps it for itself: vdso and the like. */
bool region_is_kernels(const struct region *r);

/* ---- threads ---- */

/*
 * The head of thread TID's robust futex list, {0} if it cannot be told.  It lies in struct pthread,
 * as far from its start and from a variable of TLS in one thread as in the other.
 */
raddr thread_head(const struct target *t, pid_t tid);

/* ---- spans: what is known of intervals, whatever mappings they lie in ---- */

struct span {
	raddr start, end;
	uint8_t kind, confidence;
	int32_t object, arena;
	pid_t tid;
};

struct spans {
	struct span *v;	/* sorted by start, never overlapping */
	size_t nr, room;
};

#define SPAN_NONE { .object = -1, .arena = -1 }

/* Add to S, which need not be sorted meanwhile.  Returns 0, or -1 when there is no memory. */
int spans_add(struct spans *s, const struct span *span);
/* Sort S; of what overlaps the one that starts first stays whole. */
void spans_settle(struct spans *s);
/* Add to TOP what BELOW has where TOP has nothing; both settled.  0, or -1: no memory. */
int spans_lay_under(struct spans *top, const struct spans *below);
void spans_release(struct spans *s);
#define auto_spans __attribute__((cleanup(spans_release)))

/*
 * Everything that is known of S's target beyond its mappings: stacks, heaps, objects.  The unused
 * part of a stack is told apart with WANT_UNUSED only.
 */
int spans_find(struct spans *ret, const struct space *s, const struct target *t, bool want_unused,
	struct err *e);

/* Make the leaves of S, without numbers of pages, from its regions and SPANS. */
int space_classify(
	struct space *s, const struct spans *spans, const struct target *t, struct err *e);

/* ---- pieces: what mmap() gave the main arena because brk did not ---- */

/* Looks for the pieces of one target's main arena. */
struct piece_search;

/* NULL if A's main arena is contiguous, as most are, or if it cannot be told or looked at. */
struct piece_search *piece_search_new(
	const struct target *t, struct os_pages *pages, const struct arenas *a);
void piece_search_free(struct piece_search *p);
static inline void
piece_search_cleanup(struct piece_search **p)
{
	piece_search_free(*p);
}
#define auto_piece_search __attribute__((cleanup(piece_search_cleanup)))

/* Look at [START, END) from now on, which must be as for mmapped_chunks_find().  0, or -1 with E. */
int piece_search_in(struct piece_search *p, raddr start, raddr end, struct err *e);

/*
 * Find the first piece at AT, a page, or behind it, whatever the program has mapped in between.  Only
 * present pages are read, and no more than 4 GiB by one search: what that leaves is not found.
 */
bool piece_search_next(struct piece_search *p, raddr at, raddr *ret_start, raddr *ret_end);

/* ---- census: the pages of the leaves ---- */

/* Counts the pages of one target.  While the list of its mappings is read a thread may walk them. */
struct census;

/* BY is as in os_pages_open(), which fails likewise. */
int census_open(struct census **ret, const struct target *t, enum os_pages_by by, struct err *e);
void census_free(struct census *c);
static inline void
census_cleanup(struct census **c)
{
	census_free(*c);
}
#define auto_census __attribute__((cleanup(census_cleanup)))
enum os_pages_by census_by(const struct census *c);

/* Who must hear of all regions before they can be counted; owned by C. */
const struct maps_listener *census_listener(const struct census *c);

/* Add the pages of what was heard of to S's leaves.  On failure some are counted, others not. */
int census_count(struct census *c, struct space *s, struct err *e);

#endif
