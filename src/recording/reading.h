/*
 * reading: events added up to a history, one after the other.
 */
#ifndef MEMDIAG_RECORDING_READING_H
#define MEMDIAG_RECORDING_READING_H

#include "recording/history.h"
#include "recording/recording.h"

#define HISTORY_NS_PER_MS 1000000

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
 * The state while a recording is read.
 *
 * The live amounts of all sites at a maximum are not copied at each new maximum, of which there may
 * be one per allocation.  Maxima are numbered instead, and a site's amount is noted just before it
 * changes for the first time after one: a site whose number is older has not changed since.
 */
struct history_reading {
	struct history *h;
	const struct history_moments *moments; /* NULL: none */
	size_t next_moment;

	int64_t live_bytes;	    /* what has been allocated less what was freed, of all sites */
	struct history_maximum max; /* of the present interval */
	size_t interval;
	bool has_begun;		  /* the first interval is known */
	uint64_t interval_end_ns; /* UINT64_MAX: it has no end */
	int64_t rss_bytes, unordered_bytes;
	struct amount allocated_before, freed_before; /* this interval */
	int64_t mapped_bytes;			      /* the most in it */
	uint64_t nr_peak, nr_moment;		      /* numbers of the last maxima */
	bool in_moment;				      /* the present interval is asked for */
};

/* Begin with FIRST, the first event, which is to be added as well; IS_PART as below. */
void history_reading_begin(struct history_reading *d, const struct event *first, bool is_part);
/* Add the NR events V, whose sites are below NR_SITES.  0, or -1 with E. */
int history_reading_add(struct history_reading *d, uint32_t nr_sites, const struct event *v,
	size_t nr, struct err *e);
/* Append the present interval as it is so far, and note what is live.  0, or -1 with E. */
int history_reading_end(struct history_reading *d, struct err *e);
/*
 * Go on at TIME_NS with nothing live: events are missing before it.  Intervals and the peak stay,
 * the sums begin from zero.  0, or -1 with E.
 */
int history_reading_skip(struct history_reading *d, uint64_t time_ns, struct err *e);

/*
 * As history_read() of a recording without parts, or of one of several parts: then the first
 * interval is that of its first event, and moments before it are not taken.  history_end() is still
 * to come.
 */
int history_read_one(struct history *h, struct recording *r, const struct history_moments *moments,
	bool is_part, struct err *e);
/* All of H has been read: what lives still, has lived up to the end.  0, or -1 with E. */
int history_end(struct history *h, struct err *e);

#endif
