/*
 * history: the memory of a process over time, from a recording of every allocation.  It keeps sums
 * by site and by interval; the memory it needs is for these, whatever the length of the recording.
 *
 * A local maximum is the greatest number of live bytes of an interval: what is live at its
 * beginning counts, so an interval in which nothing happens has one, too.  Of equal ones it is the
 * first.
 *
 * Mappings of the program's own are beside what is live: no sum or maximum of that has them.
 */
#ifndef MEMDIAG_RECORDING_HISTORY_H
#define MEMDIAG_RECORDING_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "recording/live.h"

/* 15 MiB; of more intervals, two each become one: 100 ms become 200 ms after five hours. */
#define HISTORY_MAX_INTERVALS ((size_t)192 << 10)

/* A local maximum; -1 bytes: it is not known. */
struct history_maximum {
	struct amount live;
	uint64_t at_ns;
};

struct history_interval {
	struct history_maximum max;
	struct amount allocated, freed; /* in it */
	int64_t rss_bytes;		/* the greatest measured; 0: none was measured in it */
	int64_t mapped_bytes;	 /* the most that was mapped within it; -1: it is not known */
	int64_t unordered_bytes; /* the maximum may be off by so much; 0: it is exact */
};

struct history_site {
	struct live live; /* at the end, as the next two */
	struct amount allocated, temporary;
	struct amount peak; /* live, when most bytes of all sites were */
	uint64_t nr_peak;   /* of the peak that PEAK is of; before the last: LIVE is right */
	struct amount moment;
	uint64_t nr_moment; /* the same for the moment that is asked for now */
	/*
	 * With keeps_lives: live, when the site had most bytes, and the sum of all blocks' lives.
	 */
	struct amount max;
	uint64_t lives_ms; /* of those that were not freed, up to the end */
};

/* Whether S has mappings, and nothing but LIVE, ALLOCATED and MOMENT. */
static inline bool
history_site_is_mapped(const struct history_site *s)
{
	return s->live.kind == LIVE_OF_MAPPINGS;
}

/* The live amounts at the local maximum of an interval, and what was mapped then. */
struct history_moment {
	size_t interval;
	struct history_maximum max;
	struct {
		struct history_live {
			uint32_t site;
			bool is_mapped;
			struct amount live; /* not 0 blocks */
		} * v;
		size_t nr, room;
	} sites;
	struct amount mapped; /* of all of them */
};

void history_moment_release(struct history_moment *m);
#define auto_moment __attribute__((cleanup(history_moment_release)))

struct history {
	uint64_t interval_ns;	 /* 0: none are kept; longer at the end if there were too many */
	bool keeps_lives;	 /* lifetimes and maxima of sites, too */
	unsigned int nr_threads; /* to read parts; 0: as many as there are, at most the CPUs */
	struct {
		struct history_interval *v; /* interval I begins at I * interval_ns */
		size_t nr, room;
	} intervals;
	struct {
		struct history_site *v;
		size_t nr, room;
	} sites;
	struct amount live, allocated, freed, temporary; /* of all sites, at the end */
	struct amount before; /* in "allocated", too: live when the recording began */
	struct history_maximum peak;
	int64_t rss_peak_bytes;	 /* 0: none was measured */
	int64_t unordered_bytes; /* maxima may be off by so much at most; 0: they are exact */
	struct amount mapped, mapped_allocated, mapped_before; /* as the three above, of mappings */
	struct history_maximum mapped_peak;
	uint64_t end_ns; /* the time of the last event */
	/* The rest is for reading parts. */
	/* Called before there are too many intervals for several histories at once; may be NULL. */
	void (*wait_turn)(void *arg);
	void *turn;
	size_t first_interval;
	uint64_t begin_ns; /* when "before" was live */
	struct {
		struct amount
			*v; /* what "before" is of each site; of a part that is not the first */
		size_t nr, room;
	} begin;
};

void history_release(struct history *h);
#define auto_history __attribute__((cleanup(history_release)))

/* Add what is LIVE of site number SITE, S, to M, if anything is.  0, or -1 with E. */
int history_add_live(struct history_moment *m, size_t site, const struct history_site *s,
	struct amount live, struct err *e);

/* The live amounts at the end of H as a moment.  The caller releases *RET.  0, or -1 with E. */
int history_end_moment(struct history_moment *ret, const struct history *h, struct err *e);

/* Make the intervals of H, which have ended, twice as long. */
void history_widen(struct history *h);

#endif
