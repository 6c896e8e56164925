/* reading: adds events to a history, one after the other. */
#ifndef MEMDIAG_RECORDING_READING_H
#define MEMDIAG_RECORDING_READING_H

#include "recording/history.h"
#include "recording/recording.h"

#define HISTORY_NS_PER_MS 1000000

/*
 * The local maxima to keep by site: the NR INTERVALS, in order and each once.  After each of them
 * TAKE is called with ARG, and may take over what the moment owns; -1 with E ends the reading.
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
 * The live amounts of all sites at a maximum are not copied at each new maximum, because every
 * allocation may be one.  Maxima are numbered instead, and a site's amount is stored just before it
 * first changes after a maximum: a site with an older number has not changed since.
 */
struct history_reading {
	struct history *h;
	const struct history_moments *moments; /* NULL for no moments */
	size_t next_moment;

	int64_t live_bytes;	    /* allocated less freed bytes, of all sites */
	struct history_maximum max; /* of the present interval */
	size_t interval;
	bool has_begun;		  /* the first interval is known */
	uint64_t interval_end_ns; /* UINT64_MAX: endless */
	int64_t rss_bytes, unordered_bytes;
	struct amount allocated_before, freed_before; /* before this interval */
	int64_t mapped_bytes;			      /* the most in it */
	uint64_t nr_peak, nr_moment;		      /* numbers of the last maxima */
	bool in_moment;				      /* the present interval is one of MOMENTS */
};

/* Begin with FIRST, the first event, which must be added as well; IS_PART as below. */
void history_reading_begin(struct history_reading *d, const struct event *first, bool is_part);
/* Add the NR events V, whose sites are below NR_SITES.  0, or -1 with E. */
int history_reading_add(struct history_reading *d, uint32_t nr_sites, const struct event *v,
	size_t nr, struct err *e);
/* Append the present interval so far, and the live amounts.  0, or -1 with E. */
int history_reading_end(struct history_reading *d, struct err *e);
/*
 * Continue at TIME_NS with nothing live: events are missing before it.  Intervals and the peak
 * stay, the sums begin from zero.  0, or -1 with E.
 */
int history_reading_skip(struct history_reading *d, uint64_t time_ns, struct err *e);

/*
 * Read as history_read() a recording without parts, or one of several parts: then the first
 * interval is that of its first event, and moments before it are not taken.  history_end() must
 * follow.
 */
int history_read_one(struct history *h, struct recording *r, const struct history_moments *moments,
	bool is_part, struct err *e);
/* All of H has been read: add the lifetimes of live blocks up to the end.  0, or -1 with E. */
int history_end(struct history *h, struct err *e);

#endif
