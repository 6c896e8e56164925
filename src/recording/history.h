/*
 * history: the memory of a process over time, from a recording of every allocation.  It keeps sums
 * by site and by interval; the memory it needs is for these, whatever the length of the recording.
 *
 * A local maximum is the greatest number of live bytes of an interval: the bytes live at its
 * beginning count, so an interval without events has one, too.  Of equal maxima it is the first.
 *
 * The program's own mappings are kept apart from live blocks: no sum or maximum of blocks includes
 * them.
 */
#ifndef MEMDIAG_RECORDING_HISTORY_H
#define MEMDIAG_RECORDING_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "recording/live.h"

/* 15 MiB; if more are needed, each two become one: 100 ms become 200 ms after five hours. */
#define HISTORY_MAX_INTERVALS ((size_t)192 << 10)

/* A local maximum; -1 bytes if unknown. */
struct history_maximum {
	struct amount live;
	uint64_t at_ns;
};

struct history_interval {
	struct history_maximum max;
	struct amount allocated, freed; /* within the interval */
	int64_t rss_bytes;		/* the greatest measured; 0: not measured in it */
	int64_t mapped_bytes;		/* the most mapped within it; -1: unknown */
	int64_t unordered_bytes;	/* the maximum may be off by this; 0: it is exact */
};

struct history_site {
	struct live live; /* at the end, like the next two members */
	struct amount allocated, temporary;
	struct amount peak; /* live, when the bytes of all sites were at their maximum */
	uint64_t nr_peak;   /* number of PEAK's peak; if older than the last, LIVE is the value */
	struct amount moment;
	uint64_t nr_moment; /* likewise, for the moment that is being read */
	/*
	 * With keeps_lives: live, when the site had most bytes, and the sum of all blocks'
	 * lifetimes.
	 */
	struct amount max;
	uint64_t lives_ms; /* live blocks count up to the end */
};

/* Return whether S has mappings, and so only LIVE, ALLOCATED and MOMENT. */
static inline bool
history_site_is_mapped(const struct history_site *s)
{
	return s->live.kind == LIVE_OF_MAPPINGS;
}

/* The live amounts at the local maximum of an interval, and the mappings at that time. */
struct history_moment {
	size_t interval;
	struct history_maximum max;
	struct {
		struct history_live {
			uint32_t site;
			bool is_mapped;
			struct amount live; /* at least one block */
		} * v;
		size_t nr, room;
	} sites;
	struct amount mapped; /* of all sites */
};

void history_moment_release(struct history_moment *m);
#define auto_moment __attribute__((cleanup(history_moment_release)))

struct history {
	uint64_t interval_ns;	 /* 0: no intervals; longer at the end if they were too many */
	bool keeps_lives;	 /* also lifetimes and maxima of sites */
	unsigned int nr_threads; /* for reading parts; 0: one per part, at most one per CPU */
	struct {
		struct history_interval *v; /* interval I begins at I * interval_ns */
		size_t nr, room;
	} intervals;
	struct {
		struct history_site *v;
		size_t nr, room;
	} sites;
	struct amount live, allocated, freed, temporary; /* of all sites, at the end */
	struct amount before; /* also in "allocated": live when the recording began */
	struct history_maximum peak;
	int64_t rss_peak_bytes;	 /* 0: not measured */
	int64_t unordered_bytes; /* maxima may be off by at most this; 0: they are exact */
	struct amount mapped, mapped_allocated, mapped_before; /* like those above */
	struct history_maximum mapped_peak;
	uint64_t end_ns; /* the time of the last event */
	/* The following members are for reading parts. */
	/*
	 * Called before the history has too many intervals for several histories at once; may be
	 * NULL.
	 */
	void (*wait_turn)(void *arg);
	void *turn;
	size_t first_interval;
	uint64_t begin_ns; /* time of "before" */
	struct {
		struct amount
			*v; /* the part of "before" of each site; in a part that is not the first */
		size_t nr, room;
	} begin;
};

void history_release(struct history *h);
#define auto_history __attribute__((cleanup(history_release)))

/* Add the LIVE amount of site number SITE, S, to M, unless it is empty.  0, or -1 with E. */
int history_add_live(struct history_moment *m, size_t site, const struct history_site *s,
	struct amount live, struct err *e);

/*
 * Store the live amounts at the end of H as a moment.  The caller releases *RET.  0, or -1 with E.
 */
int history_end_moment(struct history_moment *ret, const struct history *h, struct err *e);

/* Make the intervals of H that have ended twice as long. */
void history_widen(struct history *h);

#endif
