/*
 * checks: numbers that must agree whatever the process does. info, heap and trim compare the same
 * ones; if they do not agree, dependent numbers are approximate.
 */
#ifndef MEMDIAG_ACCOUNT_CHECKS_H
#define MEMDIAG_ACCOUNT_CHECKS_H

#include "account/mmapped.h"
#include "heap/heap.h"
#include "maps/maps.h"

struct target;

struct check {
	const char *name; /* in JSON */
	const char *ours_what, *theirs_what;
	uint64_t ours, theirs;
	bool is_at_most; /* OURS must not exceed THEIRS; else they must be equal */
	bool holds;
};
#define CHECKS_MAX 5

struct checks {
	struct check v[CHECKS_MAX];
	size_t nr;
	bool is_resident_rough; /* resident bytes of arenas and large blocks exceed RSS */
	/* a number of the arenas is rough: the resident bytes, or another one */
	bool is_rough;
	bool is_mmapped_rough; /* too few or too many large blocks were found */
	bool has_run;	       /* the process may have changed the compared numbers */
};

/* The compared values.  Zeroed, then filled by the functions below. */
struct check_facts {
	bool has_segments, has_in_use;
	uint64_t found_bytes, system_bytes;
	uint64_t in_use_bytes, in_use_of_bytes;
	/* the segments of an arena do not match malloc's count, even if the sums do */
	bool is_apart;
	bool has_resident;
	uint64_t resident_bytes; /* of arenas and large blocks, at the time of RSS */
	uint64_t rss_bytes;	 /* 0: unknown */
	uint64_t rss_lag_bytes;	 /* resident memory may exceed RSS by this: os_rss_lag() */
	const struct heap_mmapped *mmapped; /* may be NULL */
	bool has_run;
};

/*
 * Add an arena: the bytes FOUND in its segments, which may differ by LEEWAY from those in malloc's
 * account (SYSTEM).  Returns true if they differ by more.
 */
bool check_facts_add_arena(
	struct check_facts *f, uint64_t found_bytes, uint64_t leeway_bytes, uint64_t system_bytes);
/* Add an arena with IN_USE of its SYSTEM bytes in use. */
void check_facts_add_in_use(struct check_facts *f, uint64_t in_use_bytes, uint64_t system_bytes);
/*
 * The largest RSS seen while the heap was read: the arenas may have been read in any of the stops.
 */
struct rss_watch {
	const struct target *t;
	uint64_t rss_bytes; /* 0: unknown */
	uint64_t lag_bytes;
};
/*
 * The callback of struct heap_options that runs with the read; it reads RSS in the same stop.  ARG
 * is a struct rss_watch.
 */
void rss_watch_look(const struct regions *m, void *arg);
/*
 * Add the arenas of H as read, with their pages if known, and W's RSS; W may be NULL.  The large
 * blocks (f->mmapped) of S, which was read later and may be NULL, are included if RSS had not
 * changed by then.
 */
void check_facts_add_heap(struct check_facts *f, const struct heap *h, const struct rss_watch *w,
	const struct space *s);
/*
 * Add the resident bytes of the arenas and the large blocks (f->mmapped) of S, and RSS at that
 * time.
 */
void check_facts_add_space(struct check_facts *f, const struct space *s);
/* Add arena NR of S, which has SYSTEM bytes in malloc's account; as check_facts_add_arena(). */
bool check_facts_add_space_arena(
	struct check_facts *f, const struct space *s, int32_t nr, uint64_t system_bytes);

void checks_make(struct checks *ret, const struct check_facts *f);

/* Mark arenas of H that failed a check of C as approximate. */
void checks_distrust(const struct checks *c, struct heap *h);

#endif
