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
#include "profile/profile.h"
#include "recording/recording.h"

/* 15 MiB; of more intervals, two each become one: 100 ms become 200 ms after five hours. */
#define HISTORY_MAX_INTERVALS ((size_t)192 << 10)

/* Blocks of a site or of all, and their bytes. */
struct amount {
	int64_t blocks, bytes;
};

static inline struct amount
amount_less(const struct amount *a, const struct amount *b)
{
	return (struct amount){ a->blocks - b->blocks, a->bytes - b->bytes };
}

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
	struct amount allocated, freed, temporary; /* at the end */
	struct amount peak;			   /* live, when most bytes of all sites were */
	uint64_t nr_peak; /* of the peak that PEAK is of; before the last: LIVE is right */
	struct amount moment;
	uint64_t nr_moment; /* the same for the moment that is asked for now */
	/*
	 * With keeps_lives: live, when the site had most bytes, and the sum of all blocks' lives.
	 */
	struct amount max;
	uint64_t lives_ms; /* of those that were not freed, up to the end */
	bool is_mapped;	   /* it has mappings, and nothing but the first two, and MOMENT */
};

/* The live amount of S at the end. */
static inline struct amount
history_site_live(const struct history_site *s)
{
	return amount_less(&s->allocated, &s->freed);
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

/*
 * Which local maxima to keep by site: the NR INTERVALS, in order and each once.  After each of them
 * TAKE is called with ARG, and may take what the moment owns over; -1 with E ends the reading.
 */
struct history_moments {
	const size_t *intervals;
	size_t nr;
	int (*take)(void *arg, struct history_moment *m, struct err *e);
	void *arg;
};

/*
 * Read R from its beginning to its end into H, which must be zeroed but for interval_ns,
 * keeps_lives and nr_threads; MOMENTS may be NULL, as it must be without intervals, or the first
 * time that R is read; they are in intervals of the length that H had at the end the first time.
 * An interval that the recording does not reach is not taken.  The caller releases H, whatever is
 * returned.
 */
int history_read(struct history *h, struct recording *r, const struct history_moments *moments,
	struct err *e);

/* The live amounts at the end of H as a moment.  The caller releases *RET.  0, or -1 with E. */
int history_end_moment(struct history_moment *ret, const struct history *h, struct err *e);

/* ---- profiles, whose names may still have to be found (profile/symbols.h) ---- */

/*
 * The values of each site at the end: alloc_, inuse_, peak_ and temporary_, _objects and _space; in
 * a history that keeps lives also max_objects, max_space and lives_time, in milliseconds, and else
 * mapped_ and mapped_alloc_ where the format has mappings.  The caller frees *RET.
 */
int history_profile(
	struct profile **ret, const struct history *h, struct recording *r, struct err *e);
/* The live amounts at the peak, as inuse_objects and inuse_space. */
int history_peak_profile(
	struct profile **ret, const struct history *h, struct recording *r, struct err *e);
/*
 * The same of TO, and mapped_objects and mapped_space where the format has mappings; if FROM is not
 * NULL less what was live then, without what did not change.
 */
int history_moment_profile(struct profile **ret, const struct history_moment *from,
	const struct history_moment *to, struct recording *r, struct err *e);

#endif
